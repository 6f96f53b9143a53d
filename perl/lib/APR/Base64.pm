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
