#!/usr/bin/perl
use strict;
use warnings;
use CGI ();
my $q = CGI->new;
print $q->header('text/plain');
print 'word=', scalar $q->param('word') // '', "\nmethod=", $q->request_method, "\n";
