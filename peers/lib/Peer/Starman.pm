# Configures Starman: preforked workers, with the application loaded before the fork. A worker
# serves one connection until the connection closes, so there are as many workers as connections. If
# each connection has only one request, a few workers are enough.
package Peer::Starman;
use strict;
use warnings;
use parent 'Peer';

sub title           { return 'Starman' }
sub program         { return 'starman' }
sub version_command { return ($^X, '-MStarman', '-e', 'print Starman->VERSION') }
sub path_of         { my ($class, $rung, $page) = @_; return "/$page" }
sub environment     { return (PLACK_ENV => 'deployment') }

sub command {
    my ($self) = @_;
    return ($self->installed, '--listen', "127.0.0.1:$self->{port}", '--preload-app', '--max-requests', 1_000_000_000,
        '--workers', $self->{keep_alive} ? $self->{connections} : $self->{workers},
        $self->{keep_alive} ? ('--keepalive-timeout', 60) : '--disable-keepalive',
        '--access-log', $self->file('access.log'), '--error-log', $self->file('error.log'), "$self->{site}/app.psgi");
}

sub configure { return }

1;
