#!/usr/bin/perl
# The small static page, from a program that sets its lifetime.
use strict;
use warnings;
open my $file, '<', "$ENV{DOCUMENT_ROOT}/small.html" or die "small.html: $!\n";
print "Content-Type: text/html\nCache-Control: max-age=3600\n\n", <$file>;
