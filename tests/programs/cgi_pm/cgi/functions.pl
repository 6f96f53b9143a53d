#!/usr/bin/perl
# The same library by its functions, which keep one object for all of a request.
use strict;
use warnings;
use CGI qw(:standard);

my %action = (
    redirect => sub { print redirect(-uri => '/perl/survey.pl?name=redirected', -status => 303) },
    missing  => sub { print header(-status => '404 Not Here', -type => 'text/plain'), "there is no such thing\n" },
    expires  => sub { print header(-type => 'text/plain', -expires => '+1h', -Cache_Control => 'private'), "for an hour\n" },
    cookies  => sub {
        my @cookies = map { cookie(-name => $_, -value => "$_ value", -path => '/', -httponly => 1) } qw(one two);
        print header(-type => 'text/plain', -cookie => \@cookies), 'had ', join(' ', sort(cookie())), "\n";
    },
    nothing => sub { print header(-status => '204 No Content') },
    raw     => sub { print header('text/plain'), url(-full => 1), "\n", query_string(), "\n", remote_addr(), "\n", server_software() ? "software\n" : '' },
);
my $what = param('action') || 'raw';
($action{$what} || sub { print header('text/plain'), "no action $what\n" })->();
