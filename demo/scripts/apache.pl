#!/usr/bin/perl
# Tells beside.html the address of the Apache that runs beside this server, or why there is none.
# `make serve` sets the variable.
use strict;
use warnings;

my $apache = $ENV{MEHARI_DEMO_APACHE} // 'Apache runs beside this server only when make serve has started both.';
print "Content-Type: text/plain\nCache-Control: no-store\n\n$apache";
