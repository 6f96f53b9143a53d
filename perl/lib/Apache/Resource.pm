package Apache::Resource;

# mod_perl 1's name for Apache2::Resource: limits of the worker.

use strict;
use warnings;
use Apache2::Resource ();

our @ISA = ('Apache2::Resource');

sub handler { return Apache2::Resource::handler(@_) }

1;
