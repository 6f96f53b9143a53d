#!/usr/bin/perl
# Prints its request, and whether the process has had one before.
use strict;
use warnings;
use CGI::Fast;
use Cwd;

# The environment with which the server starts it. Each request has an environment of its own.
my $greeting = $ENV{GREETING};
my $calls = 0;
while (my $query = CGI::Fast->new) {
    my $before = $calls++ ? 'again' : 'first';
    print $query->header(-type => 'text/plain', -x_call => $before);
    print "greeting $greeting, in ", (split m{/}, getcwd)[-1], "\n";
    for my $name (qw(SCRIPT_NAME PATH_INFO QUERY_STRING REQUEST_METHOD CONTENT_LENGTH HTTP_AUTHORIZATION)) {
        print "$name=", $ENV{$name} // '-', "\n";
    }
    print 'name=', scalar $query->param('name') // '-', "\n";
    warn "asked to warn\n" if $query->param('warn');
    exit 0 if $query->param('leave');
}
