package ModPerl::RegistryPrefork;

# Like ModPerl::Registry, but in the script's own folder.

use strict;
use warnings;
use ModPerl::RegistryCooker ();

our @ISA = ('ModPerl::RegistryCooker');

sub handler : method {
    my $class = @_ >= 2 ? shift : __PACKAGE__;
    return $class->new(shift)->default_handler;
}

sub chdir_file { my ($self, @folder) = @_; return $self->chdir_file_normal(@folder) }

1;
