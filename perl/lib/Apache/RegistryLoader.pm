package Apache::RegistryLoader;

use strict;
use warnings;
use ModPerl::RegistryLoader ();

our @ISA = ('ModPerl::RegistryLoader');

# Scripts compiled at the start, under mod_perl 1's name.
sub new { my ($class, @option) = @_; return $class->SUPER::new(package => 'Apache::Registry', @option) }

1;
