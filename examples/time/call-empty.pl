# A function call against a method call, where the sub does nothing
# Answers: the mod_perl guide, Performance Tuning, where it compares the calls of an empty method
# and function.
# Learn: the search for a method costs a part of an empty call. It is the largest part that it can
# ever be.

# Seconds of processor time for all calls of the document.
# published: function 0.85
# published: method 1.59
# results: equal

use strict;
use warnings;

package Shop;
sub price {}

package main;

sub function { Shop::price('Shop') }
sub method   { Shop->price }
