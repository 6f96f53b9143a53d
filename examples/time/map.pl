# map against foreach and grep
# Answers: a question beside Practical mod_perl, chapter 9, "Perl Code Benchmarking".
# Learn: map makes a list at once, foreach with push grows an array.

# results: equal

use strict;
use warnings;

my @numbers = 1 .. 100;

sub map_list     { my @squares = map { $_ * $_ } @numbers; $squares[-1] }
sub map_no_block { my @squares = map $_ * $_, @numbers; $squares[-1] }
sub foreach_push { my @squares; push @squares, $_ * $_ for @numbers; $squares[-1] }
sub in_advance {
    my @squares;
    $#squares = $#numbers;
    $squares[$_] = $numbers[$_] * $numbers[$_] for 0 .. $#numbers;
    $squares[-1];
}
