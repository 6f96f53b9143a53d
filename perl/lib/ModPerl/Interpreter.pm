package ModPerl::Interpreter;

# Pools of interpreters belong to threads.

use strict;
use warnings;
use Mehari::Absent ();

Mehari::Absent::methods(__PACKAGE__, 'a worker is a process with one interpreter: see `mehari status`', qw(current mip num_requests perl refcnt));

1;
