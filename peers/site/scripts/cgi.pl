# Reads a form with CGI.pm.
use strict;
use warnings;
use CGI ();
my $r = shift;
$r->content_type('text/plain');
my $form = CGI->new;
my %args = map { $_ => scalar $form->param($_) } $form->param;
print join "\n", map { "$_ => $args{$_}" } sort keys %args;
