#!/usr/bin/perl
# Ends before its first request.
die "nothing to serve\n";
