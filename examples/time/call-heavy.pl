# A function call against a method call, where the sub does more
# Answers: the mod_perl guide, Performance Tuning, where it compares the calls of a method and
# function with more work.
# Learn: the document measured that the method wins here. The interval tells whether such a figure
# is more than noise.

# Seconds of processor time for all calls of the document.
# published: function 27.47
# published: method 21.18
# results: equal

use strict;
use warnings;

package Shop;
sub price {
    my $y;
    $y = log(100**10) + $_ for 0 .. 40;
    return $y;
}

package main;

sub function { Shop::price('Shop') }
sub method   { Shop->price }
