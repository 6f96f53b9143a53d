package ModPerl::Registry;

# Runs a script that is compiled once, and again when its file changes. This module serves
# subclasses. For the handler `ModPerl::Registry` itself, the server uses C code, on the rung
# `registry`.

use strict;
use warnings;
use ModPerl::RegistryCooker ();

our @ISA = ('ModPerl::RegistryCooker');

sub handler : method {
    my $class = @_ >= 2 ? shift : __PACKAGE__;
    return $class->new(shift)->default_handler;
}

1;

__END__

=head1 NAME

ModPerl::Registry - run scripts in a persistent interpreter

=head1 SYNOPSIS

    <Location /perl/>
        SetHandler perl-script
        PerlResponseHandler ModPerl::Registry
        PerlOptions +ParseHeaders
        Options +ExecCGI
    </Location>

=head1 DESCRIPTION

A script is compiled once as the body of a sub, and again when its file changes. Each request calls
the sub. Global variables of a worker (a process that runs Perl code) keep their values from request
to request. The script gets C<$r> as its first argument. The server itself does the work of this
handler, in C. C<mehari explain> calls this way of running a script the rung C<registry>. This class
is for subclasses, which use the methods of L<ModPerl::RegistryCooker>.

=head1 METHODS

=over 4

=item handler(R)

Runs the script of a request. Returns a status.

=back

=head1 DIFFERENCES

As under mod_perl, a named sub that uses a C<my> variable of the file sees the value that this
variable had in the first request. C<exit> ends the script and not the worker.
F<docs/reference/modperl-behaviours.md> lists each behaviour.

=head1 SEE ALSO

L<ModPerl::PerlRun>, L<ModPerl::RegistryCooker>, L<ModPerl::RegistryBB>,
L<ModPerl::RegistryPrefork>, L<Mehari::Fork>, F<docs/reference/modperl.md>.

=cut
