package Apache::SubRequest;

# Makes requests within a request: gives Apache2::SubRequest its name of mod_perl 1.

use strict;
use warnings;
use Apache ();
use Apache2::SubRequest ();

1;

__END__

=head1 NAME

Apache::SubRequest - mod_perl 1's name for Apache2::SubRequest

=head1 SYNOPSIS

    use Apache::SubRequest ();

=head1 DESCRIPTION

Loading this module loads L<Apache> and L<Apache2::SubRequest>, which adds methods to the
request.

=head1 DIFFERENCES

See L<Apache2::SubRequest>.

=head1 SEE ALSO

L<Apache2::SubRequest>.

=cut
