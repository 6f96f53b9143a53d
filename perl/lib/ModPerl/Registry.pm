package ModPerl::Registry;

# Compiles a script once, and again when its file changes. The server runs it in C on its rung
# `registry`; this module is for subclasses.

use strict;
use warnings;
use ModPerl::RegistryCooker ();

our @ISA = ('ModPerl::RegistryCooker');

sub handler : method {
    my $class = @_ >= 2 ? shift : __PACKAGE__;
    return $class->new(shift)->default_handler;
}

1;
