# Serves the two pages as a PSGI application.
use strict;
use warnings;
use File::Basename;
use lib dirname(__FILE__) . '/lib';
use Peers::Report ();

sub {
    my $env = shift;
    return [200, ['Content-Type' => 'text/plain', 'Content-Length' => 13], ["Hello, world\n"]]
        if $env->{PATH_INFO} =~ m{/hello\z};
    my $page = Peers::Report::page($env->{QUERY_STRING});
    return [200, ['Content-Type' => 'text/html; charset=utf-8', 'Content-Length' => length $page], [$page]];
};
