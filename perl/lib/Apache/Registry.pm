package Apache::Registry;

# mod_perl 1's script handler. The server runs it in C on its rung `registry`; this module is for
# subclasses and direct calls.

use strict;
use warnings;
use ModPerl::Registry ();

our @ISA = ('ModPerl::Registry');

sub handler { my $class = @_ >= 2 ? shift : __PACKAGE__; return $class->new(shift)->default_handler }

sub chdir_file { my ($self, @folder) = @_; return $self->chdir_file_normal(@folder) }

sub namespace_from { return $_[0]->namespace_from_uri }

1;
