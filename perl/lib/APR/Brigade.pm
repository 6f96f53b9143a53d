package APR::Brigade;

# Bucket brigades are Apache's own plumbing: the server reads and writes for the worker.

use strict;
use warnings;
use Mehari::Absent ();

Mehari::Absent::methods(
    __PACKAGE__, "there are no bucket brigades here: use a streaming filter (\$f->read and \$f->print), or \$r->read and \$r->print",
    qw(bucket_alloc cleanup concat destroy first flatten insert_head insert_tail is_empty last length new next pool prev split),
);

1;
