package Apache2::HookRun;

# Loads methods such as `$r->run_fixups`, which run the handlers of one phase once more, and
# `$r->die($status)`, which ends the request with an error page. The methods are XS (api/server.c).
# The methods for access control also evaluate the configuration (phases/admission.c). The front's
# own part of a phase is not repeated.

use strict;
use warnings;
use Apache2::RequestRec ();

1;

__END__

=head1 NAME

Apache2::HookRun - run the handlers of a phase once more

=head1 SYNOPSIS

    use Apache2::HookRun ();

    sub handler {
        my $r = shift;
        $r->location_merge('/private') or return 404;
        my $status = $r->run_access_checker;
        return $status if $status > 0;
        $r->die(404);
        return 0;
    }

=head1 DESCRIPTION

Loading this module adds methods to L<Apache2::RequestRec>. Each returns the status of the
phase.

=head1 METHODS OF THE REQUEST

=over 4

=item die(STATUS)

Discards what was printed. The response becomes the error page of the status. The method returns to
its caller.

=item run_post_read_request, run_translate_name, run_map_to_storage, run_header_parser,
run_type_checker, run_fixups, run_log_transaction

Run the handlers of this phase.

=item run_access_checker, run_check_user_id, run_auth_checker

Run the handlers. If all handlers decline, they return the result of the configuration's own rules.

=item run_handler, invoke_handler

Run the handlers of the response phase.

=back

=head1 DIFFERENCES

The front, the process that owns the connections, has its own part in a phase. This part is not
repeated. Only a PerlAuthenHandler can use a password that a handler has set.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache2::Access>, F<docs/reference/modperl.md>,
F<docs/reference/phases.md>.

=cut
