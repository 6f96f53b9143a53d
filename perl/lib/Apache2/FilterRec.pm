package Apache2::FilterRec;

# The name of a filter in the configuration.

use strict;
use warnings;

sub new { my ($class, $name) = @_; return bless { name => lc $name }, $class }

sub name { return $_[0]{name} }

1;
