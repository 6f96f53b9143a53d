package APR::BucketAlloc;

# The allocator of buckets. Perl's own memory is enough.

use strict;
use warnings;

sub new { my ($class, $pool) = @_; return bless { pool => $pool }, ref $class || $class }

sub destroy { return }

1;
