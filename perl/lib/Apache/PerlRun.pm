package Apache::PerlRun;

# mod_perl 1's script handler, which compiles for each request.

use strict;
use warnings;
use ModPerl::PerlRun ();

our @ISA = ('ModPerl::PerlRun');

sub handler { my $class = @_ >= 2 ? shift : __PACKAGE__; return $class->new(shift)->default_handler }

sub chdir_file { my ($self, @folder) = @_; return $self->chdir_file_normal(@folder) }

1;
