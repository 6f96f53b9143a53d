package Apache2::Connection;

# Represents the client's connection as far as a worker knows it: the addresses at both ends. The
# front has the connections and may give each request of a connection to another worker. Notes of a
# connection are lost when the worker gets a request of another connection. Under a
# PerlProcessConnectionHandler the worker has the socket, and reads and writes through filters.

use strict;
use warnings;
use APR::Table    ();
use Carp          ();
use APR::SockAddr ();
use APR::Pool     ();
use Mehari::Server ();

# The number and the notes of the connection whose request this worker served last.
my $noted = { number => 0 };

# Returns the object for $r->connection.
sub of_request {
    my ($class, $r) = @_;
    my ($remote, $remote_port, $local, $local_port) = $r->_addresses;
    my ($number, $kept) = Mehari::Server::connection_of($r);
    $noted = { number => $number } unless $number && $noted->{number} == $number;
    return bless { noted => $noted, number => $number, kept => $kept, remote => $remote, remote_port => $remote_port, local => $local, local_port => $local_port, r => $r }, $class;
}

sub client_ip   { my $self = shift; my $old = $self->{remote}; $self->{remote} = $_[0] if @_; return $old }
sub remote_ip   { my $self = shift; return $self->client_ip(@_) }
sub client_addr { my $self = shift; my $old = $self->{client_addr} || APR::SockAddr->new(@$self{qw(remote remote_port)}); $self->{client_addr} = $_[0] if @_; return $old }
sub remote_addr { my $self = shift; return $self->client_addr(@_) }
sub local_ip    { return $_[0]{local} }
sub local_addr  { my ($self) = @_; return APR::SockAddr->new(@$self{qw(local local_port)}) }
# The server does not look up the name of its own address.
sub local_host  { return undef }

# Returns the client's name or address. The types are Apache2::Const::REMOTE_HOST (0), REMOTE_NAME
# (1), REMOTE_NOLOOKUP (2) and REMOTE_DOUBLE_REV (3). This method looks up no name: it knows the
# name only if the front has looked it up (HostnameLookups, Require host).
sub get_remote_host {
    my ($self, $type) = @_;
    my $name = $self->remote_host;
    return $name // $self->{remote} if !defined $type || $type == 1 || $type == 2;
    return $name;
}

sub remote_host { return scalar $_[0]{r}->subprocess_env('REMOTE_HOST') }

# Returns Apache2::Const::CONN_UNKNOWN (0) until the head is sent. Then it returns CONN_CLOSE (1) or
# CONN_KEEPALIVE (2), as the client has requested.
sub keepalive  { my $self = shift; my $old = $self->{keepalive} // $self->_fate; $self->{keepalive} = $_[0] if @_; return $old }
sub _fate {
    my ($self) = @_;
    require ModPerl::Util;
    return 0 unless (ModPerl::Util::current_callback() // '') =~ /\APerl(?:Log|Cleanup)Handler\z/;
    my $wish = lc($self->{r}->headers_in->get('Connection') // '');
    return $wish =~ /\bclose\b/ || $self->{r}->protocol =~ m{\AHTTP/1\.0\z} && $wish !~ /\bkeep-alive\b/ ? 1 : 2;
}

sub keepalives { return $_[0]{kept} }
sub id         { return $_[0]{number} }
sub log_id     { return undef }
sub fileno     { return Mehari::Server::client_socket($_[0]{r}) }

sub base_server { return $_[0]{r}->server }

sub client_socket { my ($self) = @_; require APR::Socket; return $self->{socket} ||= APR::Socket->of_connection($self) }
sub bucket_alloc  { my ($self) = @_; require APR::BucketAlloc; return APR::BucketAlloc->new($self->pool) }

sub pool  { return $_[0]{pool} ||= $_[0]{r}->pool }
sub notes { my $self = shift; my $table = $self->{noted}{notes} ||= APR::Table::make(undef, 4); return $table unless @_; return @_ == 1 ? $table->get(@_) : $table->set(@_) }

sub pnotes {
    my $self = shift;
    my $notes = $self->{noted}{pnotes} ||= {};
    return $notes unless @_;
    my $old = $notes->{ $_[0] };
    $notes->{ $_[0] } = $_[1] if @_ > 1;
    return @_ > 1 ? $_[1] : $old;
}

sub pnotes_kill { $_[0]{noted}{pnotes} = {}; return }

# mod_perl 1 had these methods in the class of the connection.
sub user      { my $self = shift; return $self->{r}->user(@_) }
sub auth_type { my $self = shift; return $self->{r}->ap_auth_type(@_) }

my $INSTEAD = 'the server owns the client\'s socket: use $r->read and $r->print, or a PerlProcessConnectionHandler';

# Return the filter of the connection that is nearest to the handler. The filter that was added last
# is farthest from the handler. After it comes the network.
sub input_filters  { return $_[0]->_filters('input')->at(0) }
sub output_filters { return $_[0]->_filters('output')->at(0) }

sub add_input_filter  { return $_[0]->_add_filter('input',  $_[1]) }
sub add_output_filter { return $_[0]->_add_filter('output', $_[1]) }

sub _filters {
    my ($self, $way) = @_;
    return $self->{chain}{$way} ||= do {
        require Apache2::Filter::Chain;
        require Apache2::Filter::Network;
        my $network = $self->{network}{$way} ||= Apache2::Filter::Network->of_connection($self, $way);
        my $chain = Apache2::Filter::Chain->new($way, $network, c => $self);
        # A worker without the socket has no filters on it: the front reads and writes the socket.
        my @of_perl = defined $self->fileno ? ($self->_configured_filters($way), @{ $self->{added}{$way} || [] }) : ();
        $chain->add($_) for @of_perl;
        $chain;
    };
}

sub _configured_filters {
    my ($self, $way) = @_;
    require Apache2::Filter;
    my $handlers = $self->{r}->get_handlers('Perl' . ucfirst($way) . 'FilterHandler') || [];
    return grep { Apache2::Filter::is_of_connections($_) } @$handlers;
}

sub _add_filter {
    my ($self, $way, $handler) = @_;
    defined $self->fileno or Carp::croak("Apache2::Connection::add_${way}_filter: $INSTEAD");
    push @{ $self->{added}{$way} }, $handler;
    delete $self->{chain}{$way};
    return;
}

# Stand for the storage of Apache's C modules, which do not exist here, and for the scoreboard.
sub conn_config { my ($self) = @_; return bless [$self], 'Apache2::ConfVector' }
sub sbh         { return undef }

1;

__END__

=head1 NAME

Apache2::Connection - the connection of the client

=head1 SYNOPSIS

    use Apache2::Connection ();

    sub handler {
        my $r = shift;
        my $c = $r->connection;
        my ($from, $port) = ($c->client_ip, $c->client_addr->port);
        return 0;
    }

=head1 DESCRIPTION

The front, the process that owns the connections, may give each request of a connection to another
worker (a process that runs Perl code). An object of this class knows the addresses at both ends of
a connection.

=head1 METHODS

=over 4

=item client_ip([ADDRESS]), client_addr([SOCKADDR])

Return or set the address of the client, as text and as an L<APR::SockAddr>.

=item remote_ip([ADDRESS]), remote_addr([SOCKADDR])

Do the same as the methods above, under the names of Apache 2.2.

=item local_ip, local_host, local_addr

C<local_ip> and C<local_addr> return the address of the server's end, as text and as an
APR::SockAddr. C<local_host> returns undef, because the server does not look up the name.

=item get_remote_host([TYPE])

Returns the client's name if the server has looked it up. Otherwise it returns undef for the types
REMOTE_HOST and REMOTE_DOUBLE_REV, and the address for the other types.

=item remote_host

Returns the client's name if the server has looked it up, else undef.

=item id, keepalives

C<id> returns the number of the connection. C<keepalives> returns the number of earlier requests of
the same connection.

=item keepalive([VALUE])

Returns CONN_UNKNOWN until the response is sent. In Log and Cleanup handlers it returns
CONN_KEEPALIVE or CONN_CLOSE, as the client has requested.

=item aborted

Returns 1 if the client has left before it got the whole response. Otherwise returns 0.

=item log_id

Always returns undef.

=item notes([NAME, [VALUE]]), pnotes([NAME, [VALUE]]), pnotes_kill

Return or set notes of the connection. C<notes> is a table of texts. C<pnotes> is a hash of any
values, and C<pnotes_kill> empties it.

=item base_server, pool, bucket_alloc

Return the server, the pool of the request, and a new L<APR::BucketAlloc>.

=item user([NAME]), auth_type([TYPE])

Do the same as C<< $r->user >> and C<< $r->ap_auth_type >>, under mod_perl 1's names.

=item client_socket

Returns the L<APR::Socket> of the connection.

=item fileno

Returns the descriptor of the socket under a PerlProcessConnectionHandler, else undef.

=item input_filters, output_filters, add_input_filter(HANDLER), add_output_filter(HANDLER)

Return the first filter of the connection, or add a filter to the connection. The two that add die
unless a PerlProcessConnectionHandler has the connection.

=item conn_config, sbh

C<conn_config> returns an object for L<Apache2::Module>. C<sbh> returns undef.

=back

=head1 DIFFERENCES

The notes are lost when this worker gets a request of another connection. The front has the socket
of an HTTP connection. C<get_remote_host> looks up no name.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<APR::Socket>, L<APR::SockAddr>, F<docs/reference/modperl.md>.

=cut
