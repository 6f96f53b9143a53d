#!/usr/bin/perl
# Does not get as far as its first request.
die "nothing to serve\n";
