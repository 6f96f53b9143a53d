# The token that ties a form to its browser. Another site can make the browser send a form here, but
# it does not know the token for the browser's cookie.
package Demo::Guestbook::Token;
use strict;
use warnings;
use Digest::SHA qw(hmac_sha256_hex);
use Demo::Guestbook::Store;

# visitor: the cookie's value. A browser without a valid cookie gets a new one.
sub new {
    my ($class, $secret, $visitor) = @_;
    $visitor = Demo::Guestbook::Store::random_hex() unless ($visitor // '') =~ /\A[0-9a-f]{32}\z/;
    return bless {visitor => $visitor, value => hmac_sha256_hex($visitor, $secret)}, $class;
}

sub visitor { $_[0]{visitor} }
sub value   { $_[0]{value} }

# The digests are compared, so that the time of the comparison does not show where two tokens
# differ.
sub matches {
    my ($self, $given) = @_;
    return hmac_sha256_hex($given // '', $self->{visitor}) eq hmac_sha256_hex($self->{value}, $self->{visitor});
}

1;
