# An operator against a loop, with small and large arguments
# Answers: Practical mod_perl, chapter 9, "Perl Code Benchmarking" (the Time::HiRes example).
# Learn: an average hides that one way depends on its arguments. Give each kind of argument a sub
# of its own.

# Seconds of processor time for all calls of the document.
# published: loop_10_100 3.74
# published: operator_10_100 0.87
# published: loop_100_10 24.41
# published: operator_100_10 0.86
# results: equal

use strict;
use warnings;

sub _times     { $_[0] * $_[1] }
sub _additions { my ($count, $sum) = (shift, 0); $sum += $_[0] while $count--; $sum }

sub operator_10_100 { _times(10, 100) }
sub operator_100_10 { _times(100, 10) }
sub loop_10_100     { _additions(10, 100) }
sub loop_100_10     { _additions(100, 10) }
