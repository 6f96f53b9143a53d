#!/usr/bin/perl
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__) . '/../lib';
use Peers::Report ();
print "Content-Type: text/html; charset=utf-8\n\n";
print Peers::Report::page($ENV{QUERY_STRING});
