#!/usr/bin/perl
use strict;
use warnings;
use CGI ();
my $q = CGI->new;
print $q->header('text/plain');
my $file = $q->upload('HTTPUPLOAD');
local $/;
print <$file>;
