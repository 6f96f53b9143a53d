package Apache::RegistryNG;

# mod_perl 1's subclassable script handler.

use strict;
use warnings;
use ModPerl::Registry ();

our @ISA = ('ModPerl::Registry');

sub handler { my $class = @_ >= 2 ? shift : __PACKAGE__; return $class->new(shift)->default_handler }

sub chdir_file { my ($self, @folder) = @_; return $self->chdir_file_normal(@folder) }

1;
