package Apache::SubProcess;

# Runs programs: gives Apache2::SubProcess its name of mod_perl 1.

use strict;
use warnings;
use Apache ();
use Apache2::SubProcess ();

1;

__END__

=head1 NAME

Apache::SubProcess - mod_perl 1's name for Apache2::SubProcess

=head1 SYNOPSIS

    use Apache::SubProcess ();

=head1 DESCRIPTION

Loading this module loads L<Apache> and L<Apache2::SubProcess>, which adds a method to the
request.

=head1 DIFFERENCES

The methods of the CPAN module Apache::SubProcess do not exist here.

=head1 SEE ALSO

L<Apache2::SubProcess>.

=cut
