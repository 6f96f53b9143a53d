package APR::IpSubnet;

# Whether an address is in a network: `10.1`, `10.1.0.0/16`, `10.1.0.0/255.255.0.0`, `2001:db8::/32`.

use strict;
use warnings;
use Socket ();
use APR::Error ();

# new($pool, $address, $mask)
sub new {
    my ($class, $pool, $address, $mask) = @_;
    ($address, $mask) = split m{/}, $address, 2 if $address =~ m{/} && !defined $mask;
    my $is_six = $address =~ /:/;
    if (!$is_six && (my $parts = () = $address =~ /\d+/g) < 4) {
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

# test($address), an APR::SockAddr or text
sub test {
    my ($self, $address) = @_;
    $address = $address->ip_get if ref $address;
    my $bytes = Socket::inet_pton($address =~ /:/ ? Socket::AF_INET6() : Socket::AF_INET(), $address);
    return 0 unless defined $bytes && length $bytes == length $self->{network};
    return ($bytes & $self->{mask}) eq $self->{network} ? 1 : 0;
}

1;
