package Site::AuthCookie;

# The part of AuthCookie that each site writes itself: which credentials are right, and whose a
# session key is.
use strict;
use warnings;
use Apache2_4::AuthCookie;
use Digest::SHA qw(sha256_hex);
our @ISA = ('Apache2_4::AuthCookie');

my %password = (programmer => 'Hero', 'some-user' => 'some pass & more');

sub authen_cred {
    my ($self, $r, $name, $word) = @_;
    return unless defined $name && defined $password{$name} && defined $word && $password{$name} eq $word;
    return "$name:" . sha256_hex("secret of the site $name");
}

sub authen_ses_key {
    my ($self, $r, $key) = @_;
    my ($name, $proof) = split /:/, $key, 2;
    return defined $proof && $proof eq sha256_hex("secret of the site $name") ? $name : undef;
}

1;
