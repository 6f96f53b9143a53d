package Apache2::Provider;

use strict;
use warnings;
use Mehari::Absent ();

Mehari::Absent::methods(__PACKAGE__, 'use PerlAuthenHandler and PerlAuthzHandler', 'register_provider');

1;
