# Build a string: append, join, repeat concatenation
# Answers: the mod_perl guide, Performance Tuning, where it says that join may be slower than an
# append.
# Learn: `.=` grows the string in place. `$a = $b . $c` may copy it.

# results: equal

use strict;
use warnings;

my @words = map { "word$_" } 1 .. 100;

sub append      { my $text = ''; $text .= $_ for @words; $text }
sub joined      { join '', @words }
sub concatenate { my $text = ''; $text = $text . $_ for @words; $text }
sub in_front    { my $text = ''; $text = $_ . $text for reverse @words; $text }
sub interpolate { my $text = ''; $text = "$text$_" for @words; $text }
