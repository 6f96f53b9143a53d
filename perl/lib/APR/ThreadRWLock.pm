package APR::ThreadRWLock;

# A lock between threads. A worker has one thread, so the lock is always free.

use strict;
use warnings;

sub new { my ($class, $pool) = @_; return bless { pool => $pool }, ref $class || $class }

sub rdlock    { return 0 }
sub tryrdlock { return 0 }
sub wrlock    { return 0 }
sub trywrlock { return 0 }
sub unlock    { return 0 }
sub pool_get  { return $_[0]{pool} }

sub DESTROY { return }

1;
