# A fixed piece of work in pure Perl: calls, arithmetic, hashes, strings, matches and a sort. Prints
# the processor time in microseconds. `mehari doctor` compares perls and switches with it.
use strict;
use warnings;
use Time::HiRes ();

sub add { my ($one, $other) = @_; return $one + $other }

my $begun = Time::HiRes::clock();
my ($sum, $text, %seen) = (0, '');
for my $round (1 .. 40_000) {
    $sum = add($sum, $round);
    $seen{ $round % 512 } .= 'x';
    $text .= $round if $round % 7 == 0;
}
my $found = () = $text =~ /[13579]{2}/g;
my @sorted = sort { $a <=> $b } map { $_ ^ 0x155 } keys %seen;
printf "%.0f %d\n", 1e6 * (Time::HiRes::clock() - $begun), $sum + $found + @sorted;
