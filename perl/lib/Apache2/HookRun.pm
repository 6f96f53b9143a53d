package Apache2::HookRun;

# `$r->run_fixups` and its like run the handlers of one phase once more, and `$r->die($status)` ends
# the request with the page of a status. The methods are compiled (api/server.c). The methods of
# access control also evaluate the configuration (phases/admission.c). The front's own part of a
# phase is not repeated.

use strict;
use warnings;
use Apache2::RequestRec ();

1;
