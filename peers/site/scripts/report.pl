#!/usr/bin/perl
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Peers::Report ();
print "Content-Type: text/html; charset=utf-8\n\n";
print Peers::Report::page($ENV{QUERY_STRING});
