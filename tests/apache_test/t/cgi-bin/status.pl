#!/usr/bin/perl
print "Status: 403 Forbidden\nContent-Type: text/plain\n\nno\n";
