package TestPhase::providers;

# Providers for Require and of passwords, for phase/providers.t.

use strict;
use warnings FATAL => 'all';
use Apache2::Access ();
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::Const -compile => qw(OK HTTP_UNAUTHORIZED :authz_status :authn_status M_POST);

my %words = (ann => 'annsword', bob => 'bobsword', eve => 'evesword');

sub authorize {
    my ($class, $r, $words) = @_;
    return Apache2::Const::AUTHZ_DENIED_NO_USER unless $r->user;
    return Apache2::Const::AUTHZ_GENERAL_ERROR unless $words eq 'ann bob' || $words eq 'staff';
    return (grep { $_ eq $r->user } split ' ', $words) ? Apache2::Const::AUTHZ_GRANTED : Apache2::Const::AUTHZ_DENIED;
}

sub authenticate {
    my ($class, $r) = @_;
    my ($status, $word) = $r->get_basic_auth_pw;
    return $status if $status != Apache2::Const::OK;
    return Apache2::Const::OK if $r->method_number == Apache2::Const::M_POST || ($words{ $r->user } || '') eq $word;
    $r->note_basic_auth_failure;
    return Apache2::Const::HTTP_UNAUTHORIZED;
}

sub knows {
    my ($class, $r, $user, $word) = @_;
    return Apache2::Const::AUTH_USER_NOT_FOUND unless $words{$user};
    return $words{$user} eq $word ? Apache2::Const::AUTH_GRANTED : Apache2::Const::AUTH_DENIED;
}

sub response { my $r = shift; $r->content_type('text/plain'); $r->print('in'); return Apache2::Const::OK }

1;
__DATA__
<NoAutoConfig>
PerlModule TestPhase::providers
PerlAddAuthzProvider own-user TestPhase::providers->authorize
PerlAddAuthnProvider own-words TestPhase::providers->knows
<Location /TestPhase__providers>
    PerlAuthenHandler TestPhase::providers->authenticate
    PerlResponseHandler TestPhase::providers::response
    SetHandler modperl
    AuthType Basic
    AuthName Own
    Require own-user ann bob
    Require own-user staff
    <Limit POST>
        Require valid-user
    </Limit>
</Location>
<Location /own-words>
    AuthBasicProvider own-words
    PerlResponseHandler TestPhase::providers::response
    SetHandler modperl
    AuthType Basic
    AuthName Own
    Require valid-user
</Location>
</NoAutoConfig>
