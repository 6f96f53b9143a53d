#!/usr/bin/perl
use strict;
use warnings;
use Shop::Cart ();

my $visitor = join '-', $$, ++$main::visitors;
my $things  = Shop::Cart::add($visitor, 'a thing ' x 20);
print "Content-Type: text/plain\n\n", "visitor $visitor has $things in the cart\n";
