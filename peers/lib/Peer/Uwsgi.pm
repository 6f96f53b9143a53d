# uWSGI with its PSGI plugin, speaking HTTP itself. A worker holds one connection while it stays open (http11-socket),
# so there are as many as connections; with a connection for each request (http-socket) a few do.
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
