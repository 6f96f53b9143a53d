# Configures Feersum: a few preforked processes with an event loop each. The application is loaded
# before the fork. The access log is Plack's, because Feersum has none.
package Peer::Feersum;
use strict;
use warnings;
use parent 'Peer';

sub title           { return 'Feersum' }
sub program         { return 'feersum' }
sub version_command { return ($^X, '-MFeersum', '-e', 'print Feersum->VERSION') }
sub path_of         { my ($class, $rung, $page) = @_; return "/$page" }
sub environment     { return (PLACK_ENV => 'deployment') }
sub stop_signal     { return 'QUIT' }
sub configure       { return }

sub command {
    my ($self) = @_;
    return ($self->installed, "--pre-fork=$self->{workers}", '--listen', "127.0.0.1:$self->{port}",
        '--access-log', $self->file('access.log'), "$self->{site}/app.psgi");
}

1;
