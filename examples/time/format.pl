# sprintf, interpolation, join
# Answers: the mod_perl guide, Performance Tuning, "Interpolation, Concatenation or List".
# Learn: sprintf reads its format for each call. It pays where it rounds or pads.

# results: equal

use strict;
use warnings;

my ($name, $count, $unit) = ('parts', 42, 'boxes');

sub formatted    { sprintf '%s: %d %s', $name, $count, $unit }
sub interpolated { "$name: $count $unit" }
sub joined       { join '', $name, ': ', $count, ' ', $unit }
