#!/usr/bin/perl
use POSIX qw(locale_h); setlocale(LC_ALL, "C");
print "Content-type: text/html; charset=iso-8859-1\nContent-language: de\n\n";
print "Gr\374\337e aus K\366ln, \xa9 1997\n", chr(228), "\n";
print "wide: \x{263a}\n" if $ENV{QUERY_STRING} eq 'wide';
