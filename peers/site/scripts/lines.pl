#!/usr/bin/perl
# Fills a template of 200 lines.
use strict;
use warnings;
my $template = join '', map { "<tr><td>[% number %]</td><td>[% name %]</td><td>line $_</td></tr>\n" } 1 .. 200;
my $number = 0;
my %value = (number => sub { ++$number }, name => sub { "caravan $number of " . ($ENV{SERVER_NAME} // '') });
$template =~ s/\[% (\w+) %\]/$value{$1}->()/ge;
print "Content-Type: text/html; charset=utf-8\n\n<table>\n$template</table>\n";
