package APR::Bucket;

# See APR::Brigade.

use strict;
use warnings;
use Mehari::Absent ();

Mehari::Absent::methods(
    __PACKAGE__, "there are no bucket brigades here: use a streaming filter (\$f->read and \$f->print), or \$r->read and \$r->print",
    qw(data delete destroy eos_create flush_create insert_after insert_before is_eos is_flush length new read remove setaside start type),
);

1;
