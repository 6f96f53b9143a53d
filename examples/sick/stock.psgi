# How many things the shop has. Not sick.
use strict;
use warnings;
use Shop::Stock ();

my $app = sub {
    my $count = @Shop::Stock::rows;
    return [200, ['Content-Type' => 'text/plain'], ["$count things\n"]];
};
