# A function call against a method call, where the sub does a little
# Answers: the mod_perl guide, Performance Tuning, where it compares the calls of a method and
# function with some work.
# Learn: if the sub does any work, the kind of call is a small part of the time.

# Seconds of processor time for all calls of the document.
# published: function 16.93
# published: method 19.36
# results: equal

use strict;
use warnings;

package Shop;
sub price {
    my $y;
    $y = log(100**10) + $_ for 0 .. 20;
    return $y;
}

package main;

sub function { Shop::price('Shop') }
sub method   { Shop->price }
