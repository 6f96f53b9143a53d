package Own::Tied;
use strict;
use warnings FATAL => 'all';
require Tie::Hash;
our @ISA = 'Tie::StdHash';
sub FETCH { my ($self, $key) = @_; return $key eq '/tied' ? 'TIED' : $self->{$key} }
1;
