package Apache2::Connection;

# The client's connection as far as a worker knows it: the addresses at both ends. The front keeps
# connections and may give each request of a connection to another worker, so notes last only while
# the worker gets requests of the same connection. Under a PerlProcessConnectionHandler the worker
# has the socket, with filters in between.

use strict;
use warnings;
use APR::Table    ();
use Carp          ();
use APR::SockAddr ();
use APR::Pool     ();
use Mehari::Server ();

# The last served connection: its number and its notes.
my $noted = { number => 0 };

# For $r->connection.
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
# No name is looked up for the server's own address.
sub local_host  { return undef }

# Apache2::Const::REMOTE_HOST 0, REMOTE_NAME 1, REMOTE_NOLOOKUP 2, REMOTE_DOUBLE_REV 3. No name is
# looked up here, but the server may have looked it up before (HostnameLookups, Require host).
sub get_remote_host {
    my ($self, $type) = @_;
    my $name = $self->remote_host;
    return $name // $self->{remote} if !defined $type || $type == 1 || $type == 2;
    return $name;
}

sub remote_host { return scalar $_[0]{r}->subprocess_env('REMOTE_HOST') }

sub aborted    { return 0 }
# Apache2::Const::CONN_UNKNOWN 0 until the head is sent, then CONN_CLOSE 1 or CONN_KEEPALIVE 2, as
# the client requests.
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

# mod_perl 1 had these methods here.
sub user      { my $self = shift; return $self->{r}->user(@_) }
sub auth_type { my $self = shift; return $self->{r}->ap_auth_type(@_) }

my $INSTEAD = 'the server owns the client\'s socket: use $r->read and $r->print, or a PerlProcessConnectionHandler';

# The filters of the connection. The last added filter is farthest from the handler, and the network
# comes last.
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
        # Without the socket the front alone filters what goes through it.
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

# Storage and a scoreboard for Apache's C modules, which do not exist here.
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

The front keeps connections and may give each request of a connection to another worker. An
object of this class knows the addresses at both ends.

=head1 METHODS

=over 4

=item client_ip([ADDRESS]), client_addr([SOCKADDR])

The address of the client as text and as an L<APR::SockAddr>. remote_ip and remote_addr are the
same.

=item remote_ip([ADDRESS]), remote_addr([SOCKADDR])

The names of Apache 2.2.

=item local_ip, local_host, local_addr

The address of this end; C<local_addr> is an APR::SockAddr. C<local_host> is undef, because no name
is looked up.

=item get_remote_host([TYPE])

The client's name if the server has looked it up, else the address; for REMOTE_HOST and
REMOTE_DOUBLE_REV undef.

=item remote_host

The name, or undef.

=item id, keepalives

The number of the connection, and how many requests it has brought before this one.

=item keepalive([VALUE])

CONN_UNKNOWN until the response is sent. Log and Cleanup handlers get CONN_KEEPALIVE or CONN_CLOSE,
as the client asked.

=item aborted

Always 0.

=item log_id

Always undef.

=item notes([NAME, [VALUE]]), pnotes([NAME, [VALUE]]), pnotes_kill

Notes of the connection: a table of texts, and a hash of any values.

=item base_server, pool, bucket_alloc

The server; the pool of the request; a new L<APR::BucketAlloc>.

=item user([NAME]), auth_type([TYPE])

mod_perl 1's names for C<< $r->user >> and C<< $r->ap_auth_type >>.

=item client_socket

The L<APR::Socket>.

=item fileno

The descriptor of the socket under a PerlProcessConnectionHandler, else undef.

=item input_filters, output_filters, add_input_filter(HANDLER), add_output_filter(HANDLER)

Filters of the connection. They die unless a PerlProcessConnectionHandler has the connection.

=item conn_config, sbh

Die.

=back

=head1 DIFFERENCES

Notes last only while this worker gets requests of the same connection. The socket of an HTTP
connection belongs to the front. C<get_remote_host> looks up no name.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<APR::Socket>, L<APR::SockAddr>, F<docs/reference/modperl.md>.

=cut
