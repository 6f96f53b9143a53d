package APR::BucketType;

# See APR::Brigade.

use strict;
use warnings;
use Mehari::Absent ();

Mehari::Absent::methods(
    __PACKAGE__, "there are no bucket brigades here: use a streaming filter (\$f->read and \$f->print), or \$r->read and \$r->print",
    qw(name),
);

1;
