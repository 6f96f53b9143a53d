package APR::IpSubnet;

# Tells whether an address is in a network: `10.1`, `10.1.0.0/16`, `10.1.0.0/255.255.0.0`,
# `2001:db8::/32`.

use strict;
use warnings;
use Socket ();
use APR::Error ();

# new($pool, $address, $mask)
sub new {
    my ($class, $pool, $address, $mask) = @_;
    ($address, $mask) = split m{/}, $address, 2 if $address =~ m{/} && !defined $mask;
    my $is_six = $address =~ /:/;
    if (!$is_six && $address =~ /\A\d+(?:\.\d+)*\.?\z/ && (my $parts = () = $address =~ /\d+/g) < 4) {
        $mask = 8 * $parts unless defined $mask;
        $address = join '.', $address =~ /\d+/g, (0) x (4 - $parts);
    }
    my $bytes = Socket::inet_pton($is_six ? Socket::AF_INET6() : Socket::AF_INET(), $address);
    APR::Error::throw(20016, 'APR::IpSubnet::new') unless defined $bytes;
    return bless { network => $bytes & _mask($mask, 8 * length $bytes), mask => _mask($mask, 8 * length $bytes) }, ref $class || $class;
}

sub _mask {
    my ($mask, $bits) = @_;
    $mask = $bits unless defined $mask;
    if ($mask =~ /\./) {
        my $bytes = Socket::inet_pton(Socket::AF_INET(), $mask);
        return $bytes if defined $bytes && $bits == 32;
    }
    APR::Error::throw(20017, 'APR::IpSubnet::new') unless $mask =~ /\A\d+\z/ && $mask <= $bits;
    return pack "B$bits", '1' x $mask . '0' x ($bits - $mask);
}

# test($address) takes an APR::SockAddr or a text.
sub test {
    my ($self, $address) = @_;
    $address = $address->ip_get if ref $address;
    my $bytes = Socket::inet_pton($address =~ /:/ ? Socket::AF_INET6() : Socket::AF_INET(), $address);
    return 0 unless defined $bytes && length $bytes == length $self->{network};
    return ($bytes & $self->{mask}) eq $self->{network} ? 1 : 0;
}

1;

__END__

=head1 NAME

APR::IpSubnet - whether an address is in a network

=head1 SYNOPSIS

    use APR::IpSubnet ();
    my $net = APR::IpSubnet->new(undef, '10.1.0.0', '16');
    print "inside\n" if $net->test('10.1.2.3');

=head1 DESCRIPTION

A network is an address with a mask, or the first parts of an address.

=head1 METHODS

=over 4

=item new(POOL, ADDRESS, [MASK])

Returns a network. The ADDRESS may contain a mask (C<10.1.0.0/16>) or be the first parts of an
address (C<10.1>). The MASK is a number of bits, or an address such as C<255.255.0.0>. IPv6
addresses work too. Dies with an L<APR::Error> for anything else.

=item test(ADDRESS)

Returns 1 if the address is in the network, else 0. The ADDRESS is an L<APR::SockAddr> or a text.

=back

=head1 DIFFERENCES

The mask may stand behind a slash, and C<test> takes a text.

=head1 SEE ALSO

L<APR::SockAddr>, L<Apache2::Connection>.

=cut
