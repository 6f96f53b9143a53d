package APR::UUID;

# Makes random unique ids.

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
    # As under mod_perl, an invalid text gives the nil id, whose bits are all 0.
    my $hex = ($text // '') =~ /\A[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\z/ ? $text =~ tr/-//dr : '0' x 32;
    my $bytes = pack 'H32', $hex;
    return bless \$bytes, ref $class || $class;
}

1;

__END__

=head1 NAME

APR::UUID - random unique ids

=head1 SYNOPSIS

    use APR::UUID ();
    print APR::UUID->new->format;

=head1 DESCRIPTION

An id has 128 bits. 122 of them are random numbers of the kernel.

=head1 METHODS

=over 4

=item new

Returns a new id. Dies with an L<APR::Error> if the kernel gives no random numbers.

=item format

Returns the id as 36 characters.

=item parse(TEXT)

A class method. Returns the id in a text of 36 characters. For any other text it returns the nil id.

=back

=head1 DIFFERENCES

New ids have version 4 and contain neither a time nor an address.

=head1 SEE ALSO

L<APR::Error>.

=cut
