package Apache2::Access;

# Who may: the methods of authentication and authorization. What the configuration says of it comes with
# the request's settings.

use strict;
use warnings;
use Apache2::RequestRec ();
use MIME::Base64 ();

package Apache2::RequestRec;

use strict;
use warnings;

my %METHOD;
@METHOD{qw(GET PUT POST DELETE CONNECT OPTIONS TRACE PATCH PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK)} = 0 .. 14;
$METHOD{HEAD} = 0;

# get_basic_auth_pw: status and password; sets the user.
sub get_basic_auth_pw {
    my ($self) = @_;
    my $line = $self->headers_in->get($self->proxyreq == 1 ? 'Proxy-Authorization' : 'Authorization');
    return (-1, undef) unless lc($self->auth_type // '') eq 'basic';
    if (!defined $self->auth_name) {
        $self->log_error('need AuthName: ' . $self->uri);
        return (500, undef);
    }
    if (!defined $line) {
        $self->note_basic_auth_failure;
        return (401, undef);
    }
    my ($scheme, $rest) = split ' ', $line, 2;
    if (lc $scheme ne 'basic') {
        $self->log_error('client used wrong authentication scheme: ' . $self->uri);
        $self->note_basic_auth_failure;
        return (401, undef);
    }
    my ($user, $password) = split /:/, MIME::Base64::decode_base64($rest // ''), 2;
    $self->user($user // '');
    $self->ap_auth_type('Basic');
    return (0, $password // '');
}

sub note_auth_failure {
    my ($self) = @_;
    my $type = lc($self->auth_type // '');
    return $type eq 'digest' ? $self->note_digest_auth_failure : $self->note_basic_auth_failure;
}

sub note_basic_auth_failure {
    my ($self) = @_;
    return if lc($self->auth_type // '') ne 'basic';
    my $name = ($self->auth_name // '') =~ s/(["\\])/\\$1/gr;
    $self->err_headers_out->set($self->proxyreq == 1 ? 'Proxy-Authenticate' : 'WWW-Authenticate', qq{Basic realm="$name"});
    return;
}

sub note_digest_auth_failure {
    my ($self) = @_;
    my $name  = ($self->auth_name // '') =~ s/(["\\])/\\$1/gr;
    my $nonce = sprintf '%x', time;
    $self->err_headers_out->set('WWW-Authenticate', qq{Digest realm="$name", nonce="$nonce"});
    return;
}

# Nobody asks identd.
sub get_remote_logname { return undef }

# allow_methods($reset, @names): what the Allow header will say.
sub allow_methods {
    my ($self, $reset, @names) = @_;
    my $allowed = $reset ? 0 : $self->allowed;
    for my $name (@names) { $allowed |= 1 << $METHOD{$name} if exists $METHOD{$name} }
    $self->allowed($allowed);
    return;
}

1;
