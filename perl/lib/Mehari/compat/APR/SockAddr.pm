package APR::SockAddr;

# Represents one end of a connection: an IP address and a port.

use strict;
use warnings;

sub new { my ($class, $ip, $port) = @_; return bless { ip => $ip, port => $port }, $class }

sub ip_get { return $_[0]{ip} }
sub port   { return $_[0]{port} }
sub equal  { my ($self, $other) = @_; return $self->{ip} eq $other->{ip} ? 1 : 0 }

1;

__END__

=head1 NAME

APR::SockAddr - an address and a port

=head1 SYNOPSIS

    use APR::SockAddr ();
    my $address = APR::SockAddr->new('192.0.2.1', 80);
    print $address->ip_get, ' ', $address->port, "\n";

=head1 DESCRIPTION

C<< $c->client_addr >> and C<< $c->local_addr >> return objects of this class.

=head1 METHODS

=over 4

=item new(IP, PORT)

Returns an address.

=item ip_get, port

Return the IP address as text, and the port.

=item equal(ADDRESS)

Returns 1 if both have the same IP address, else 0.

=back

=head1 DIFFERENCES

A program may make objects of this class itself.

=head1 SEE ALSO

L<Apache2::Connection>.

=cut
