package APR::Socket;

# The client's connection as a socket. The server owns it: what a worker may say of it is how long to wait.

use strict;
use warnings;
use Mehari::Absent ();

sub of_connection { my ($class, $connection) = @_; return bless { connection => $connection }, $class }

# Microseconds.
sub timeout_get { my ($self) = @_; return $self->{connection}{timeout} // 1_000_000 * $self->{connection}->base_server->timeout }
sub timeout_set { my ($self, $microseconds) = @_; $self->{connection}{timeout} = $microseconds; return 0 }

Mehari::Absent::methods(
    __PACKAGE__, 'the server owns the client\'s socket: use $r->read and $r->print',
    qw(bind close connect fileno listen opt_get opt_set poll recv recvfrom send sendto),
);

1;
