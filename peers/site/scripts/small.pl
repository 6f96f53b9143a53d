#!/usr/bin/perl
# Prints the small static page, with a field that says how long a cache may keep the page.
use strict;
use warnings;
open my $file, '<', "$ENV{DOCUMENT_ROOT}/small.html" or die "small.html: $!\n";
print "Content-Type: text/html\nCache-Control: max-age=3600\n\n", <$file>;
