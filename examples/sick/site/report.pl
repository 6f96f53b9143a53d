#!/usr/bin/perl
use strict;
use warnings;
use Shop::Report ();

print "Content-Type: text/plain\n\n", "The best sellers of today\n\n", Shop::Report::page();
print 'Prices include the tax. ' x 200, "\n";
