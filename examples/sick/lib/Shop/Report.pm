package Shop::Report;

# The report of the day. Three lines of this file and one of Shop::Stock make it slow.

use strict;
use warnings;
use Shop::Stock ();

my $THINGS = 120;

sub page {
    warn 'the report was asked for'; # planted: warning
    my @things = map { [Shop::Stock::thing($_ * 31)] } 1 .. $THINGS;
    my $rate   = rate();
    my $best   = best_sellers(\@things);
    return join '', map { sprintf "%-12s %8s\n", $_->[0], in_crowns($_->[1] * $rate) } @$best;
}

# Asks the bank for the rate of exchange. The bank takes its time.
sub rate {
    select undef, undef, undef, 0.04; # planted: wait
    return 11.5;
}

# Returns the ten best things.
sub best_sellers {
    my ($things) = @_;
    my @best = sort { weight($b) <=> weight($a) } @$things;
    return [@best[0 .. 9]];
}

# Says how well a thing sells. The sort asks again for each comparison.
sub weight {
    my ($thing) = @_;
    my $letters = 0;
    $letters += ord for split //, $thing->[0] x 40; # planted: weight
    return $letters * $thing->[1];
}

sub in_crowns {
    my ($amount) = @_;
    require Math::BigFloat; # planted: module
    return Math::BigFloat->new($amount)->bfround(-2);
}

1;
