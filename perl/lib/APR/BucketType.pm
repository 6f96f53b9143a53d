package APR::BucketType;

# The type of a bucket.

use strict;
use warnings;

sub of { my ($class, $name) = @_; return bless { name => $name }, $class }

sub name { return $_[0]{name} }

1;
