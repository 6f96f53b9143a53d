package Apache2::SubRequest;

# Adds `$r->lookup_uri`, `$r->lookup_file` and `$r->internal_redirect`, which are XS
# (api/subrequest.c). A sub-request is an Apache2::RequestRec with the method `run`.

use strict;
use warnings;
use Apache2::RequestRec ();
use Mehari::Absent ();

# Continues as the request that a sub-request has found. As in Apache, method and body stay.
sub Apache2::RequestRec::internal_fast_redirect {
    my ($self, $found) = @_;
    $self->_become($found);
    $self->finfo($found->finfo);
    for my $name (qw(headers_out err_headers_out notes subprocess_env)) {
        my $table = $self->$name;
        $found->$name->do(sub { $table->set(@_); 1 });
    }
    return;
}

Mehari::Absent::methods('Apache2::RequestRec', 'there are no directory entries here: use $r->lookup_file', 'lookup_dirent');

1;

__END__

=head1 NAME

Apache2::SubRequest - requests within a request

=head1 SYNOPSIS

    use Apache2::SubRequest ();

    sub handler {
        my $r = shift;
        my $menu = $r->lookup_uri('/parts/menu.html');
        $menu->run if $menu->status == 200;
        return 0;
    }

=head1 DESCRIPTION

Loading this module adds methods to L<Apache2::RequestRec>. A sub-request is an Apache2::RequestRec
with the method C<run>. The front, the process that owns the connections, resolves the path. A
relative path begins at the path of the request.

=head1 METHODS

=over 4

=item run

Runs the sub-request. The output of the sub-request becomes a part of this response. Returns the
status of the sub-request. Dies for a request that is no sub-request.

=back

=head1 METHODS OF THE REQUEST

=over 4

=item lookup_uri(PATH, [FILTER])

Returns a sub-request for a path of this server, with the method GET. With a FILTER from C<<
$r->output_filters >>, the output passes this filter and the filters after it. Dies if the server
cannot resolve the path, or if FILTER is no filter.

=item lookup_method_uri(METHOD, PATH, [FILTER])

Does the same as C<lookup_uri>, but with another method of HTTP.

=item lookup_file(FILE, [FILTER])

Does the same as C<lookup_uri>, but for a file.

=item internal_redirect(PATH), internal_redirect_handler(PATH)

Answer with another path of this server in place of the current path. The method and the body of the
request stay the same. Within a sub-request, the output of the other path becomes a part of the
response. They return nothing.

=item internal_fast_redirect(SUBREQUEST)

The request continues as the request that a sub-request has found: with its URI, file, path info,
arguments, type, handler and configuration, and with its header fields, notes and variables. Method
and body stay. It returns nothing, and the handler goes on.

=item lookup_dirent

Dies: use lookup_file.

=back

=head1 DIFFERENCES

A sub-request can run handlers, scripts on the rungs C<registry> and C<perlrun>, PSGI applications
and CGI programs, and can send files and pages with server-side includes. No other output filter of
the server runs for a file. A rung is the way in which a script runs. For a script on the
rung C<fork>, the sub-request starts a process.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache2::Filter>, F<docs/reference/phases.md>.

=cut
