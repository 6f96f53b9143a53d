package APR::Base64;

# Encodes and decodes Base64 without line breaks.

use strict;
use warnings;
use MIME::Base64 ();

sub encode { return MIME::Base64::encode_base64($_[0], '') }

sub decode { return MIME::Base64::decode_base64($_[0]) }

# Returns the length of the encoded text for a number of bytes.
sub encode_len { return int(($_[0] + 2) / 3) * 4 }

1;

__END__

=head1 NAME

APR::Base64 - Base64 without line breaks

=head1 SYNOPSIS

    use APR::Base64 ();
    my $text = APR::Base64::encode('some bytes');
    my $bytes = APR::Base64::decode($text);

=head1 DESCRIPTION

Call the functions by their full names: the module exports nothing.

=head1 FUNCTIONS

=over 4

=item encode(BYTES), decode(TEXT)

Returns the Base64 text of bytes, or the bytes of a Base64 text.

=item encode_len(LENGTH)

Returns the length of the Base64 text for LENGTH bytes.

=back

=head1 DIFFERENCES

C<encode_len> does not count a NUL at the end of the text.

=head1 SEE ALSO

L<MIME::Base64>.

=cut
