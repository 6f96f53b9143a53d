package Apache2::HookRun;

# $r->run_*: the phases run by themselves, in Apache's order.

use strict;
use warnings;
use Mehari::Absent ();
use Apache2::RequestRec ();

Mehari::Absent::methods(
    'Apache2::RequestRec', 'the server runs the phases: use $r->lookup_uri for another request, $r->push_handlers for another handler',
    qw(run_access_checker run_auth_checker run_check_user_id run_fixups run_handler run_header_parser run_log_transaction
        run_map_to_storage run_post_read_request run_translate_name run_type_checker invoke_handler),
);

1;
