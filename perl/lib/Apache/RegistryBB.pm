package Apache::RegistryBB;

# mod_perl 1's script handler that never checks a file again.

use strict;
use warnings;
use ModPerl::RegistryBB ();

our @ISA = ('ModPerl::RegistryBB');

sub handler { my $class = @_ >= 2 ? shift : __PACKAGE__; return $class->new(shift)->default_handler }

sub chdir_file { my ($self, @folder) = @_; return $self->chdir_file_normal(@folder) }

1;
