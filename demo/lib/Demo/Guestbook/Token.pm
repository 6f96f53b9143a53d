# The token that ties a form to the browser it was sent to: another site can make that browser send a form here, but
# cannot know the token that goes with its cookie.
package Demo::Guestbook::Token;
use strict;
use warnings;
use Digest::SHA qw(hmac_sha256_hex);
use Demo::Guestbook::Store;

# visitor: the cookie's value; a browser without a good one gets a new one.
sub new {
    my ($class, $secret, $visitor) = @_;
    $visitor = Demo::Guestbook::Store::random_hex() unless ($visitor // '') =~ /\A[0-9a-f]{32}\z/;
    return bless {visitor => $visitor, value => hmac_sha256_hex($visitor, $secret)}, $class;
}

sub visitor { $_[0]{visitor} }
sub value   { $_[0]{value} }

# Compared by their digests, so that the time taken tells nothing of where they differ.
sub matches {
    my ($self, $given) = @_;
    return hmac_sha256_hex($given // '', $self->{visitor}) eq hmac_sha256_hex($self->{value}, $self->{visitor});
}

1;
