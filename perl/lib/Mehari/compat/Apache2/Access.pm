package Apache2::Access;

# Adds the methods for authentication and authorization to `$r`. They read the configuration from
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

my %UNSAID;

# Return the configured value, or the value that a handler has set for the rest of the request.
for my $name (qw(auth_name auth_type)) {
    no strict 'refs';
    *$name = sub {
        my $self  = shift;
        my $slots = $self->_slots;
        $slots->{$name} = $_[0] if @_;
        return $slots->{$name} // $self->_setting($name) // $UNSAID{$name};
    };
}

# The values that apply without any configuration.
BEGIN { %UNSAID = (auth_type => 'none') }

sub _auth_type { my ($self) = @_; my $type = lc $self->auth_type; return $type eq 'none' ? '' : $type }

# Returns bits Apache2::Const::OPT_*. Without any configuration for Perl, it returns Apache's
# defaults.
sub allow_options { my ($self) = @_; return $self->_setting('options') // 20 }

sub allow_overrides     { return 0 }
sub allow_override_opts { return 0 }

# Returns Apache2::Const::SATISFY_ALL (0), SATISFY_ANY (1) or SATISFY_NOSPEC (2).
sub satisfies { my ($self) = @_; return $self->_satisfies }

sub some_auth_required { my ($self) = @_; return defined $self->_setting('require') ? 1 : 0 }

# Returns the Require lines in the form of mod_perl 1 and Apache 2.2: a list of { requirement =>
# 'valid-user', method_mask => -1 }.
sub requires {
    my ($self) = @_;
    my $said = $self->_setting('require') // return;
    return [map { { requirement => $_, method_mask => -1 } } split /\n/, $said];
}

# Returns a status and the password that the client sent, and sets the user.
sub get_basic_auth_pw {
    my ($self) = @_;
    my $line = $self->headers_in->get($self->proxyreq == 1 ? 'Proxy-Authorization' : 'Authorization');
    # A handler that asks for a password without a configured AuthType means Basic.
    $self->auth_type('Basic') unless length $self->_auth_type;
    return (-1, undef) unless $self->_auth_type eq 'basic';
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
    # As in Apache, the note says that the client claims the name.
    $self->notes->set(AP_GET_BASIC_AUTH_PW_NOTE => 1);
    $self->ap_auth_type('Basic');
    return (0, $password // '');
}

sub note_auth_failure {
    my ($self) = @_;
    return $self->_auth_type eq 'digest' ? $self->note_digest_auth_failure : $self->note_basic_auth_failure;
}

sub note_basic_auth_failure {
    my ($self) = @_;
    return if $self->_auth_type ne 'basic';
    my $name = ($self->auth_name // '') =~ s/(["\\])/\\$1/gr;
    $self->err_headers_out->set($self->proxyreq == 1 ? 'Proxy-Authenticate' : 'WWW-Authenticate', qq{Basic realm="$name"});
    return;
}

sub note_digest_auth_failure {
    my ($self) = @_;
    my $name  = ($self->auth_name // '') =~ s/(["\\])/\\$1/gr;
    my $nonce = sprintf '%x', time;
    $self->err_headers_out->set('WWW-Authenticate', qq{Digest realm="$name", nonce="$nonce", algorithm=MD5, qop="auth"});
    return;
}

# The server never asks identd.
sub get_remote_logname { return undef }

# allow_methods($reset, @names): sets the Allow field.
sub allow_methods {
    my ($self, $reset, @names) = @_;
    my $allowed = $reset ? 0 : $self->allowed;
    for my $name (@names) { $allowed |= 1 << $METHOD{$name} if exists $METHOD{$name} }
    $self->allowed($allowed);
    return;
}

1;

__END__

=head1 NAME

Apache2::Access - authentication and authorization in handlers

=head1 SYNOPSIS

    use Apache2::Access ();
    use Apache2::Const -compile => qw(OK HTTP_UNAUTHORIZED);

    sub handler {
        my $r = shift;
        my ($status, $password) = $r->get_basic_auth_pw;
        return $status unless $status == Apache2::Const::OK;
        return Apache2::Const::OK if $r->user eq 'ann' && $password eq 'secret';
        $r->note_basic_auth_failure;
        return Apache2::Const::HTTP_UNAUTHORIZED;
    }

=head1 DESCRIPTION

Loading this module adds methods to L<Apache2::RequestRec>.

=head1 METHODS OF THE REQUEST

=over 4

=item get_basic_auth_pw

Returns a status and the password, and sets C<user>. The status is OK if the client has sent a
password. It is 401 if the field Authorization is missing or has another scheme, 500 if there is no
AuthName, and DECLINED if AuthType is not Basic. Without an AuthType, it sets AuthType to Basic.

=item auth_name([NAME]), auth_type([TYPE])

Return or set the values of AuthName and AuthType. A new value is valid for this request only.

=item note_auth_failure, note_basic_auth_failure, note_digest_auth_failure

Set the field WWW-Authenticate. C<note_auth_failure> uses the scheme of AuthType. The others use
Basic or Digest.

=item requires

Returns a reference to an array with one entry, C<< { requirement => TEXT, method_mask => -1 } >>,
for each Require line. If there are no Require lines, it returns nothing.

=item some_auth_required

Returns whether there is a Require line.

=item satisfies

Returns SATISFY_ALL, SATISFY_ANY or SATISFY_NOSPEC.

=item allow_options

Returns the bits C<OPT_*> of the directive Options.

=item allow_methods(RESET, NAMES)

Adds methods to C<allowed>, or replaces them if RESET is true.

=item allow_overrides, allow_override_opts

Always return 0, whatever AllowOverride says.

=item get_remote_logname

Always returns undef, because the server never asks identd.

=back

=head1 DIFFERENCES

A request without a user never meets a requirement, whatever a PerlAuthzHandler returns: the client
gets 500. F<docs/reference/phases.md>, "Access control", has the rules.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache2::Const>, F<docs/reference/phases.md>.

=cut
