# Ways to loop
# Answers: the mod_perl guide, Performance Tuning, where it shows Benchmark.pm (a loop of
# logarithms, whose time stands beside `modifier`).
# Learn: perl's loop over a range makes no list and counts in C. A loop with three parts does each
# part in Perl.

# Seconds for 1000 times 10,001 logarithms.
# published: modifier 24.93
# results: equal

use strict;
use warnings;

sub modifier   { my $sum = 0; $sum += log($_) for 1 .. 100; int $sum }
sub foreach_block   { my $sum = 0; foreach my $n (1 .. 100) { $sum += log($n) } int $sum }
sub three_part { my $sum = 0; for (my $n = 1; $n <= 100; $n++) { $sum += log($n) } int $sum }
sub while_loop { my ($sum, $n) = (0, 0); $sum += log($n) while ++$n <= 100; int $sum }
sub map_list   { my $sum = 0; map { $sum += log($_) } 1 .. 100; int $sum }
