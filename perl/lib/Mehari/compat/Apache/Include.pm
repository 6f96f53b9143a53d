package Apache::Include;

# Includes another page of this server in the current one.

use strict;
use warnings;
use Apache ();
use Apache2::SubRequest  ();
use Apache2::RequestUtil ();

# virtual($uri, $r)
sub virtual {
    my ($class, $uri, $r) = @_;
    $r ||= Apache2::RequestUtil->request;
    return $r->lookup_uri($uri)->run;
}

1;

__END__

=head1 NAME

Apache::Include - include another page of this server

=head1 SYNOPSIS

    use Apache::Include ();

    sub handler { my $r = shift; Apache::Include->virtual('/parts/menu.html', $r); return 0 }

=head1 DESCRIPTION

The output of the page becomes a part of the response. Server-side includes in the page are
processed.

=head1 CLASS METHODS

=over 4

=item virtual(PATH, [R])

Runs a sub-request. Returns the status of the sub-request. Dies as C<lookup_uri> does.

=back

=head1 DIFFERENCES

None is known.

=head1 SEE ALSO

L<Apache2::SubRequest>.

=cut
