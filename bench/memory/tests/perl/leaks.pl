# Each line on standard input stands for a hundred requests.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/Shop.pm";
$| = 1;
print "ready\n";
my $count = 0;
while (<STDIN>) {
    Shop::handle($count++) for 1 .. 100;
    print "done\n";
}
