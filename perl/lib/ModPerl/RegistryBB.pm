package ModPerl::RegistryBB;

# Like ModPerl::Registry, but a compiled script is never checked again.

use strict;
use warnings;
use ModPerl::RegistryCooker ();

our @ISA = ('ModPerl::RegistryCooker');

sub handler : method {
    my $class = @_ >= 2 ? shift : __PACKAGE__;
    return $class->new(shift)->default_handler;
}

sub should_compile { return $_[0]->should_compile_once }

1;
