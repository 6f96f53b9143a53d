# Interpolation, concatenation or a list to print, with long strings
# Answers: the mod_perl guide, Performance Tuning, where it compares interpolation, concatenation
# and lists (long strings).
# Learn: print takes a list without making one string of it first. The longer the strings, the
# more the copy costs.

# Seconds of processor time for all calls of the document.
# published: interpolation 4.51
# published: list 3.03
# published: concatenation 4.74
# results: equal

use strict;
use warnings;

my ($title, $name, $text, $foot) = map { $_ x 1000 } 'a' .. 'd';

sub interpolation { print "$title$name$text$foot" }
sub concatenation { print $title . $name . $text . $foot }
sub list          { print $title, $name, $text, $foot }
