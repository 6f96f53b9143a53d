#!/usr/bin/perl
# CGI::Carp: an error as a page, warnings for the log, a page of the site's own.
use strict;
use warnings;
use CGI ();
use CGI::Carp qw(fatalsToBrowser warningsToBrowser set_message);

my $q    = CGI->new;
my $what = $q->param('what') || '';
set_message(sub { print '<h1>We are sorry</h1><p>', $q->escapeHTML($_[0]), '</p>' }) if $what eq 'own';
set_message('') if $what ne 'own';
die "died before the head\n" if $what eq 'early' || $what eq 'own';
print $q->header('text/html');
warn "a warning <of> the script\n";
warningsToBrowser(1);
die "died in the page\n" if $what eq 'late';
my $none;
$none->method if $what eq 'perl';
print "<p>well</p>\n";
warningsToBrowser(0);
