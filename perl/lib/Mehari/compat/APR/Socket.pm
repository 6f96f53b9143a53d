package APR::Socket;

# Represents the client's connection as a socket. A worker has the socket only in a
# PerlProcessConnectionHandler. Otherwise the front has the socket, and a worker can only set time
# limits.

use strict;
use warnings;
use Mehari::Absent ();
use APR::Error     ();
use Carp           ();
use Errno          ();
use Scalar::Util   ();
use Socket         ();

my $TIMED_OUT = 70007;                         # APR::Const::TIMEUP
my ($READABLE, $WRITABLE, $FAILED) = (1, 4, 0x10);
# APR::Const::SO_NONBLOCK. This option has no effect: the timeout decides whether `recv` and `send`
# wait.
my $NON_BLOCKING = 8;
my %OPTION = (
    2   => [Socket::SOL_SOCKET(),  Socket::SO_KEEPALIVE()],
    4   => [Socket::SOL_SOCKET(),  Socket::SO_DEBUG()],
    16  => [Socket::SOL_SOCKET(),  Socket::SO_REUSEADDR()],
    64  => [Socket::SOL_SOCKET(),  Socket::SO_SNDBUF()],
    128 => [Socket::SOL_SOCKET(),  Socket::SO_RCVBUF()],
    512 => [Socket::IPPROTO_TCP(), Socket::TCP_NODELAY()],
);

my $INSTEAD = 'the server owns the client\'s socket: use $r->read and $r->print, or a PerlProcessConnectionHandler';

# Returns the socket of a connection. The connection refers to this object, so the reference back is
# weak.
sub of_connection {
    my ($class, $connection) = @_;
    my $self = bless { connection => $connection }, $class;
    Scalar::Util::weaken($self->{connection});
    return $self;
}

# Returns a handle on the socket. The handle never blocks: the callers wait. Dies if the front has
# the socket.
sub _handle {
    my ($self, $method) = @_;
    return $self->{handle} ||= do {
        my $number = Mehari::Server::client_socket($self->{connection}{r});
        die "APR::Socket::$method: $INSTEAD\n" unless defined $number;
        open my $handle, '+<&', $number or APR::Error::throw($!, "APR::Socket::$method");
        binmode $handle;
        $handle;
    };
}

sub fileno { my ($self) = @_; return CORE::fileno $self->_handle('fileno') }

# Return and set the time limit in microseconds. A negative value means no limit.
sub timeout_get { my ($self) = @_; return $self->{connection}{timeout} // $self->{connection}->base_server->timeout }
sub timeout_set { my ($self, $microseconds) = @_; $self->{connection}{timeout} = $microseconds; return 0 }

sub opt_get {
    my ($self, $option) = @_;
    return $self->{connection}{non_blocking} // 1 if $option == $NON_BLOCKING;
    my $known = $OPTION{$option} or APR::Error::throw(70023, 'APR::Socket::opt_get');
    return unpack 'i', getsockopt($self->_handle('opt_get'), $known->[0], $known->[1]) // APR::Error::throw($!, 'APR::Socket::opt_get');
}

sub opt_set {
    my ($self, $option, $value) = @_;
    if ($option == $NON_BLOCKING) { $self->{connection}{non_blocking} = $value ? 1 : 0; return 0 }
    my $known = $OPTION{$option} or APR::Error::throw(70023, 'APR::Socket::opt_set');
    setsockopt $self->_handle('opt_set'), $known->[0], $known->[1], pack 'i', $value or APR::Error::throw($!, 'APR::Socket::opt_set');
    return 0;
}

# poll($pool, $microseconds, $events) returns 0, or TIMEUP. The events are bits such as
# APR::Const::POLLIN.
sub poll {
    my ($self, undef, $microseconds, $events) = @_;
    my $handle = $self->_handle('poll');
    return $self->_wait($handle, $events & ($READABLE | $FAILED), $events & $WRITABLE, $microseconds) ? 0 : $TIMED_OUT;
}

# Returns whether the socket became ready in time.
sub _wait {
    my ($self, $handle, $reads, $writes, $microseconds) = @_;
    my $bits = '';
    vec($bits, CORE::fileno $handle, 1) = 1;
    my $seconds = $microseconds < 0 ? undef : $microseconds / 1_000_000;
    while (1) {
        my ($readable, $writable) = ($reads ? $bits : undef, $writes ? $bits : undef);
        my $found = select $readable, $writable, undef, $seconds;
        return $found > 0 if $found >= 0;
        APR::Error::throw($!, 'APR::Socket::poll') unless $!{EINTR};
    }
}

# Makes a system call. If the call would block, it waits and repeats the call. It dies when the time
# limit is over, or if the call fails.
sub _patiently {
    my ($self, $method, $writes, $call) = @_;
    my $handle = $self->_handle($method);
    while (1) {
        my $done = $call->($handle);
        return $done if defined $done;
        next if $!{EINTR};
        my $patience = $self->timeout_get;
        APR::Error::throw($!, "APR::Socket::$method") if !$!{EAGAIN} || !$patience;
        $self->_wait($handle, !$writes, $writes, $patience) or APR::Error::throw($TIMED_OUT, "APR::Socket::$method");
    }
}

# recv($buffer, $length) returns the number of bytes read, or 0 at the end of the data.
sub recv {
    my ($self, undef, $length) = @_;
    # With a time limit of 0 the caller gets EAGAIN, even if the front has the socket.
    APR::Error::throw(Errno::EAGAIN(), 'APR::Socket::recv') if !$self->timeout_get && !defined Mehari::Server::client_socket($self->{connection}{r});
    my $got = $self->_patiently('recv', 0, sub { my $read; return defined sysread($_[0], $read, $length) ? $read : undef });
    $_[1] = $got;
    return length $got;
}

# send($bytes, $length) sends all bytes and returns the number of bytes.
sub send {
    my ($self, $bytes, $length) = @_;
    my $all = length $bytes;
    $length = $all unless defined $length;
    Carp::croak("the 3rd arg ($length) is bigger than the length ($all) of the 2nd argument") if $length > $all || $length < 0;
    my $sent = 0;
    while ($sent < $length) {
        $sent += $self->_patiently('send', 1, sub { CORE::send $_[0], substr($bytes, $sent, $length - $sent), Socket::MSG_NOSIGNAL() });
    }
    return $sent;
}

Mehari::Absent::methods(__PACKAGE__, $INSTEAD, qw(bind close connect listen recvfrom sendto));

1;

__END__

=head1 NAME

APR::Socket - the client's socket

=head1 SYNOPSIS

    sub handler {    # PerlProcessConnectionHandler
        my $c = shift;
        my $socket = $c->client_socket;
        $socket->timeout_set(10_000_000);
        while ($socket->recv(my $line, 4096)) { $socket->send($line) }
        return 0;
    }

=head1 DESCRIPTION

A worker (a process that runs Perl code) has the socket of a client only under a
PerlProcessConnectionHandler. For an HTTP request, the methods that need the socket die and name an
alternative.

=head1 METHODS

=over 4

=item recv(BUFFER, LENGTH)

Reads up to LENGTH bytes. Returns the number of bytes, or 0 at the end of the data.

=item send(BYTES, [LENGTH])

Sends all bytes, or the first LENGTH bytes. Returns the number of bytes. Dies if LENGTH is larger
than the number of bytes.

=item timeout_get, timeout_set(MICROSECONDS)

Return or set the time for which C<recv> and C<send> wait, in microseconds. A negative value means
no limit. The default is the value of the directive Timeout.

=item poll(POOL, MICROSECONDS, EVENTS)

Waits until data can be read (POLLIN) or written (POLLOUT). Returns 0, or TIMEUP when the time is
over.

=item opt_get(OPTION), opt_set(OPTION, VALUE)

Return or set an option: SO_KEEPALIVE, SO_DEBUG, SO_REUSEADDR, SO_SNDBUF, SO_RCVBUF, TCP_NODELAY or
SO_NONBLOCK.

=item fileno

Returns the descriptor of the socket.

=item bind, close, connect, listen, recvfrom, sendto

Die.

=back

=head1 ERRORS

C<recv>, C<send>, C<poll>, C<opt_get> and C<opt_set> die with an L<APR::Error>. Its number is TIMEUP
when the time is over, EAGAIN if the call would wait and the time is 0, and ENOTIMPL for an unknown
option.

=head1 DIFFERENCES

C<SO_NONBLOCK> has no effect: only the time decides whether C<recv> and C<send> wait.

=head1 SEE ALSO

L<Apache2::Connection>, F<docs/reference/modperl.md>.

=cut
