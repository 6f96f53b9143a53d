# Configures uWSGI with its PSGI plugin and its own HTTP. A worker serves one connection until the
# connection closes (http11-socket), so there are as many workers as connections. If each connection
# has only one request (http-socket), a few workers are enough.
package Peer::Uwsgi;
use strict;
use warnings;
use parent 'Peer';

sub title           { return 'uWSGI' }
sub program         { return 'uwsgi-core' }
sub version_command { return (Peer::Uwsgi->installed, '--version') }
sub path_of         { my ($class, $rung, $page) = @_; return "/$page" }
sub stop_signal     { return 'INT' }

sub command { my ($self) = @_; return ($self->installed, '--ini', $self->file('uwsgi.ini')) }

sub configure {
    my ($self) = @_;
    my $socket  = $self->{keep_alive} ? 'http11-socket' : 'http-socket';
    my $workers = $self->{keep_alive} ? $self->{connections} : $self->{workers};
    $self->write_file('uwsgi.ini', <<"END");
[uwsgi]
plugin = psgi
psgi = $self->{site}/app.psgi
$socket = 127.0.0.1:$self->{port}
master = true
workers = $workers
listen = 100
logto = $self->{folder}/access.log
log-format = %(addr) - %(user) [%(ltime)] "%(method) %(uri) %(proto)" %(status) %(rsize) "%(referer)" "%(uagent)"
END
    return;
}

1;
