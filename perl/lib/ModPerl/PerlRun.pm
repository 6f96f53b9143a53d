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
