package Apache2::SubRequest;

# `$r->lookup_uri`, `$r->lookup_file`, `$r->internal_redirect`: the methods are compiled
# (api/subrequest.c). An object is an Apache2::RequestRec with the method `run`.

use strict;
use warnings;
use Apache2::RequestRec ();
use Mehari::Absent ();

Mehari::Absent::methods('Apache2::RequestRec', 'there are no directory entries here: use $r->lookup_file', 'lookup_dirent');

1;
