package Apache::Log;

# Gives Apache2::Log its name of mod_perl 1.

use strict;
use warnings;
use Apache ();
use Apache2::Log ();

1;

__END__

=head1 NAME

Apache::Log - mod_perl 1's name for Apache2::Log

=head1 SYNOPSIS

    use Apache::Log ();

=head1 DESCRIPTION

Loading this module loads L<Apache> and L<Apache2::Log>, which adds methods to the request and
the server.

=head1 DIFFERENCES

See L<Apache2::Log>.

=head1 SEE ALSO

L<Apache2::Log>.

=cut
