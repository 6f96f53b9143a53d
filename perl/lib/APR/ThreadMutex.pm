package APR::ThreadMutex;

# A lock between threads. A worker has one thread, so the lock is always free.

use strict;
use warnings;

sub new { my ($class, $pool) = @_; return bless { pool => $pool, held => 0 }, ref $class || $class }

sub lock    { $_[0]{held}++; return 0 }
sub trylock { $_[0]{held}++; return 0 }
sub unlock  { $_[0]{held}-- if $_[0]{held}; return 0 }
sub pool_get { return $_[0]{pool} }

sub DESTROY { return }

1;
