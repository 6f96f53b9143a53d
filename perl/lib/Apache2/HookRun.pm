package Apache2::HookRun;

# `$r->run_fixups` and its like run the handlers of one phase once more, `$r->die($status)` ends the request with the page
# of a status: the methods are in the server's compiled part (api/server.c). Access control answers what the configuration
# says too (phases/admission.c); what else the front does in a phase by itself is not done again.

use strict;
use warnings;
use Apache2::RequestRec ();

1;
