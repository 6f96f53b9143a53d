package ModPerl::InterpPool;

# Pools of interpreters need threads, which workers do not have.

use strict;
use warnings;
use Mehari::Absent ();

Mehari::Absent::methods(__PACKAGE__, 'a worker is a process with one interpreter: see `mehari status`', qw(parent server tipool));

1;
