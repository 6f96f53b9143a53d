package APR::Base64;

# Base64 without line breaks.

use strict;
use warnings;
use MIME::Base64 ();

sub encode { return MIME::Base64::encode_base64($_[0], '') }

sub decode { return MIME::Base64::decode_base64($_[0]) }

# Length of the encoded text in bytes.
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

The functions are called with their whole names.

=head1 FUNCTIONS

=over 4

=item encode(BYTES), decode(TEXT)

The text of bytes, and the bytes of a text.

=item encode_len(LENGTH)

The length of the text for so many bytes.

=back

=head1 DIFFERENCES

C<encode_len> counts the text without a NUL at its end.

=head1 SEE ALSO

L<MIME::Base64>.

=cut
