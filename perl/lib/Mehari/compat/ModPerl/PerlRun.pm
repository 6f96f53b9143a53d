package ModPerl::PerlRun;

# Compiles a script for each request and empties its package afterwards.

use strict;
use warnings;
use ModPerl::RegistryCooker ();

our @ISA = ('ModPerl::RegistryCooker');

sub handler : method {
    my $class = @_ >= 2 ? shift : __PACKAGE__;
    return $class->new(shift)->default_handler;
}

sub should_compile { $_[0]{RECOMPILES} = 1; return 1 }

sub cache_it { return }

sub should_reset_inc_hash { return 1 }

# Also at the end of the request, because `exit` leaves the script without returning here.
sub run {
    my ($self) = @_;
    my $package = $self->{PACKAGE};
    $self->{REQ}->pool->cleanup_register(sub { ModPerl::Util::unload_package($package) });
    return $self->SUPER::run;
}

1;

__END__

=head1 NAME

ModPerl::PerlRun - compile a script for each request

=head1 SYNOPSIS

    <Location /perl-run/>
        SetHandler perl-script
        PerlResponseHandler ModPerl::PerlRun
        PerlOptions +ParseHeaders
        Options +ExecCGI
    </Location>

=head1 DESCRIPTION

A script runs in a persistent interpreter but is compiled for each request, and its package is
emptied afterwards. Loaded modules stay. The server runs this handler on its rung C<perlrun>;
this class is for subclasses.

=head1 METHODS

=over 4

=item handler(R)

Runs the script of a request. Returns a status.

=item should_compile

Always true.

=item cache_it

Does nothing.

=item should_reset_inc_hash

True: files without C<.pm> that the script has loaded are forgotten.

=item run

Runs the compiled script and empties its package after the request.

=back

=head1 DIFFERENCES

BEGIN and END blocks, and those of required libraries, do not run as under mod_perl in every
case; F<docs/reference/modperl-behaviours.md> lists the rows.

=head1 SEE ALSO

L<ModPerl::Registry>, L<ModPerl::PerlRunPrefork>, L<ModPerl::RegistryCooker>.

=cut
