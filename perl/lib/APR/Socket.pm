package APR::Socket;

# The client's connection as a socket. The server owns it: what a worker may say of it is how long to wait.

use strict;
use warnings;
use Mehari::Absent ();
use APR::Error     ();

sub of_connection { my ($class, $connection) = @_; return bless { connection => $connection }, $class }

# Microseconds.
sub timeout_get { my ($self) = @_; return $self->{connection}{timeout} // 1_000_000 * $self->{connection}->base_server->timeout }
sub timeout_set { my ($self, $microseconds) = @_; $self->{connection}{timeout} = $microseconds; return 0 }

my $INSTEAD = 'the server owns the client\'s socket: use $r->read and $r->print';

# Who will not wait is told that nothing is there (APR::Const::EAGAIN).
sub recv {
    my ($self) = @_;
    APR::Error::throw(11, 'APR::Socket::recv') unless $self->timeout_get;
    die "APR::Socket::recv: $INSTEAD\n";
}

Mehari::Absent::methods(__PACKAGE__, $INSTEAD, qw(bind close connect fileno listen opt_get opt_set poll recvfrom send sendto));

1;
