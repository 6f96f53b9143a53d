package Apache2::Provider;

use strict;
use warnings;
use Mehari::Absent ();

Mehari::Absent::methods(__PACKAGE__, 'use PerlAuthenHandler and PerlAuthzHandler', 'register_provider');

1;

__END__

=head1 NAME

Apache2::Provider - a class of mod_perl that has no use here

=head1 SYNOPSIS

    # httpd.conf: PerlAddAuthzProvider member My::Provider
    sub handler { my ($r, $words) = @_; return 1 }    # Apache2::Const::AUTHZ_GRANTED

=head1 DESCRIPTION

The directives PerlAddAuthzProvider and PerlAddAuthnProvider name providers.

=head1 CLASS METHODS

=over 4

=item register_provider

Dies with a message that names the handlers to use.

=back

=head1 DIFFERENCES

Only the configuration can register providers.

=head1 SEE ALSO

L<Apache2::Access>, F<docs/reference/modperl.md>.

=cut
