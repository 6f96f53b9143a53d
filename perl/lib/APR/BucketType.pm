package APR::BucketType;

# What kind a bucket is of.

use strict;
use warnings;

sub of { my ($class, $name) = @_; return bless { name => $name }, $class }

sub name { return $_[0]{name} }

1;
