package Mehari;

use strict;
use warnings;

our $VERSION = '0.002000';

require Mehari::Built;
require XSLoader;
XSLoader::load('Mehari', $VERSION);

# Defers the call of a sub until the client has its response. Mehari::Deferred describes it.
sub after_response { require Mehari::Deferred; goto &Mehari::Deferred::add }

# `$r->after_response`. The first method dies if the request has ended.
sub Apache2::RequestRec::after_response { my $r = shift; $r->status; require Mehari::Deferred; goto &Mehari::Deferred::add }

# Called by xs/phases/deferred.c.
sub _run_deferred { require Mehari::Deferred; goto &Mehari::Deferred::run }

1;

__END__

=head1 NAME

Mehari - the Perl side of the Mehari application server

=head1 SYNOPSIS

    mehari serve /srv/www/cgi-bin        # a folder of scripts
    mehari serve app.psgi                # a PSGI application
    mehari serve -f httpd.conf           # the directives of Apache and mod_perl
    mehari check -f httpd.conf           # what a configuration means, and its problems
    plackup -s Mehari app.psgi

=head1 DESCRIPTION

Mehari is a web application server for Perl. One process, the front, is written in Rust and speaks
HTTP with the clients. Other processes, the workers, run scripts, handlers and applications with the
site's own perl. The front and the workers exchange requests through shared memory, not through
sockets.

This module loads the compiled part of the Perl side. The server loads the module before any code of
the site. A program in the server therefore does not need C<use Mehari>.

A program outside the server may also load most of the modules below. In a checkout, C<perl $(perl
perl/build.pl | sed s/^/-I/) program.pl> sets the search path. The modules of mod_perl's API lie
below F<Mehari/compat>, where only the server looks for modules.

=head1 MODULES

=over 4

=item State that workers share

L<Mehari::State> is a tied hash for bytes, and L<Mehari::State::Structures> is a tied hash for
values of any kind. L<Mehari::Cache> is a cache for parts of pages. L<CHI::Driver::Mehari>,
L<Apache::Session::Mehari> and L<Apache::ASP::State> use these modules as stores for CHI,
Apache::Session and Apache::ASP.

=item Work after the response

L<Mehari::Deferred> describes C<Mehari::after_response>, C<< $r->after_response >> and
C<< $env->{'mehari.after_response'} >>.

=item PSGI

L<Plack::Handler::Mehari> is what C<plackup -s Mehari> loads.

=item Ways to run a script

L<Mehari::Fork>, L<Mehari::Rewind>, L<Mehari::Auto>, L<ModPerl::Registry> and L<ModPerl::PerlRun>
are values for the directive PerlResponseHandler.

=item The interface of mod_perl 2

C<Apache2::*>, C<APR::*> and C<ModPerl::*>. Begin with L<Apache2::RequestRec>.

=item The interface of libapreq2

L<Apache2::Request>, L<Apache2::Upload>, L<Apache2::Cookie>, L<APR::Request>.

=item The interface of mod_perl 1

L<Apache> and C<Apache::*>.

=back

=head1 VARIABLES

=over 4

=item $Mehari::VERSION

The version of the Perl side.

=back

=head1 LIMITS

The functions of this package (C<zygote>, C<compile_script>, C<log_line>, C<limit>,
C<take_ends>) are internal to the server. A program that loads Mehari outside the server has no
request, so every method of a request dies.

=head1 SEE ALSO

L<Mehari::State>, L<Mehari::Cache>, L<Plack::Handler::Mehari>, L<Apache2::RequestRec>,
F<docs/reference/modperl.md>, F<docs/reference/psgi.md>, F<docs/reference/configuration.md>.

=cut
