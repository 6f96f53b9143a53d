package Apache2::SubRequest;

# `$r->lookup_uri`, `$r->lookup_file`, `$r->internal_redirect`: the methods are compiled
# (api/subrequest.c). An object is an Apache2::RequestRec with the method `run`.

use strict;
use warnings;
use Apache2::RequestRec ();
use Mehari::Absent ();

# The request becomes what a sub-request has found.
sub Apache2::RequestRec::internal_fast_redirect {
    my ($self, $found) = @_;
    $self->$_($found->$_) for qw(uri filename path_info args content_type finfo method);
    for my $name (qw(headers_out err_headers_out subprocess_env)) {
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

Loading this module adds methods to L<Apache2::RequestRec>. A sub-request is such an object with
the method C<run>. The path is resolved by the front; a relative one begins at the path of the
request.

=head1 METHODS

=over 4

=item run

Runs the sub-request: its answer becomes a part of this response. Returns its status. Dies for a
request that is no sub-request.

=back

=head1 METHODS OF THE REQUEST

=over 4

=item lookup_uri(PATH, [FILTER])

Returns a sub-request for a path of this server, with GET. With a FILTER (one of C<<
$r->output_filters >>) its answer passes this filter and those after it too. Dies if the server
has no answer for the path, and for what is no filter.

=item lookup_method_uri(METHOD, PATH, [FILTER])

The same with another method.

=item lookup_file(FILE, [FILTER])

The same for a file.

=item internal_redirect(PATH), internal_redirect_handler(PATH)

Answers with another path of this server in place of the current one. The method and the body of
the request stay. Within a sub-request, the answer of the path becomes a part of the response. They
return nothing.

=item internal_fast_redirect(SUBREQUEST)

Gives this request what a sub-request of C<lookup_uri> has found: URI, file, path info, arguments,
type, header fields and variables. It returns nothing, and the handler goes on.

=item lookup_dirent

Dies: use lookup_file.

=back

=head1 DIFFERENCES

The three kinds of internal redirect are one. A sub-request runs handlers, scripts on the rungs
C<registry> and C<perlrun>, PSGI applications and CGI programs, and sends files; it starts a
process for a script of the rung C<fork>.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache2::Filter>, F<docs/reference/phases.md>.

=cut
