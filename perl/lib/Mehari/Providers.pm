package Mehari::Providers;

# Runs the handlers that a configuration names by PerlAddAuthzProvider and PerlAddAuthnProvider.
# phases/requirement.c calls `decides` for a `Require` line. A location with `AuthBasicProvider` has
# `knows_password` as a handler of its Authen phase.

use strict;
use warnings;
use Apache2::Access ();
use Apache2::Const  ();
use Mehari::Handler ();

# Calls an authorization handler and returns its result, one of Apache2::Const's AUTHZ_*. If the
# handler dies, its message is logged and the result is AUTHZ_GENERAL_ERROR, which denies too.
sub decides {
    my ($r, $handler, $words) = @_;
    my $answer = eval { my ($code, @invocant) = @{ Mehari::Handler::resolve($handler) }; $code->(@invocant, $r, $words) };
    if ($@) {
        $r->log_error($@);
        return Apache2::Const::AUTHZ_GENERAL_ERROR();
    }
    return defined $answer ? 0 + $answer : Apache2::Const::AUTHZ_DENIED();
}

# Checks the request's password for `AuthBasicProvider`. The first handler that knows the user
# decides.
sub knows_password {
    my ($r, @handlers) = @_;
    my ($status, $password) = $r->get_basic_auth_pw;
    return $status if $status;
    for my $handler (@handlers) {
        my ($code, @invocant) = @{ Mehari::Handler::resolve($handler) };
        my $answer = $code->(@invocant, $r, $r->user, $password);
        return Apache2::Const::OK() if $answer == Apache2::Const::AUTH_GRANTED();
        next if $answer == Apache2::Const::AUTH_USER_NOT_FOUND();
        return Apache2::Const::SERVER_ERROR() if $answer == Apache2::Const::AUTH_GENERAL_ERROR();
        last;
    }
    $r->note_basic_auth_failure;
    return Apache2::Const::HTTP_UNAUTHORIZED();
}

1;

__END__

=head1 NAME

Mehari::Providers - internal

=head1 DESCRIPTION

This module is internal to the server: it runs the handlers of PerlAddAuthzProvider and
PerlAddAuthnProvider.

=cut
