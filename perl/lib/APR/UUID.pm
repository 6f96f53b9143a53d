package APR::UUID;

# Random unique ids.

use strict;
use warnings;
use APR::Error ();

sub new {
    my ($class) = @_;
    open my $random, '<:raw', '/dev/urandom' or APR::Error::throw($! + 0, 'APR::UUID::new');
    read($random, my $bytes, 16) == 16 or APR::Error::throw(20028, 'APR::UUID::new');
    vec($bytes, 6, 8) = vec($bytes, 6, 8) & 0x0f | 0x40;
    vec($bytes, 8, 8) = vec($bytes, 8, 8) & 0x3f | 0x80;
    return bless \$bytes, ref $class || $class;
}

sub format { return join '-', unpack 'H8 H4 H4 H4 H12', ${ $_[0] } }

sub parse {
    my ($class, $text) = @_;
    my $hex = $text =~ /\A[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\z/ ? $text =~ tr/-//dr : APR::Error::throw(20014, 'APR::UUID::parse');
    my $bytes = pack 'H32', $hex;
    return bless \$bytes, ref $class || $class;
}

1;
