# sprintf, interpolation, join
# Answers: a question beside the mod_perl guide's interpolation, concatenation and lists.
# Learn: sprintf reads its format for each call. It pays where it rounds or pads.

# results: equal

use strict;
use warnings;

my ($name, $count, $unit) = ('parts', 42, 'boxes');

sub formatted    { sprintf '%s: %d %s', $name, $count, $unit }
sub interpolated { "$name: $count $unit" }
sub joined       { join '', $name, ': ', $count, ' ', $unit }
