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

# Runs the script and empties its package. The package is also emptied at the end of the request,
# because `exit` leaves the script without returning to this method.
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

A script runs in a persistent interpreter. It is compiled for each request, and its package is
emptied after the request. Loaded modules stay loaded. The server itself does the work of this
handler, in C. C<mehari explain> calls this way of running a script the rung C<perlrun>. This class
is for subclasses.

=head1 METHODS

=over 4

=item handler(R)

Runs the script of a request. Returns a status.

=item should_compile

Always returns true.

=item cache_it

Does nothing.

=item should_reset_inc_hash

Returns true: loaded files whose names do not end with C<.pm> are removed from C<%INC>, so the next
request loads them again.

=item run

Runs the compiled script and empties its package after the request.

=back

=head1 DIFFERENCES

BEGIN and END blocks of scripts and of required libraries do not run as under mod_perl in every
case. F<docs/reference/modperl-behaviours.md> lists the differences.

=head1 SEE ALSO

L<ModPerl::Registry>, L<ModPerl::PerlRunPrefork>, L<ModPerl::RegistryCooker>.

=cut
