package Apache::SubProcess;

# mod_perl 1's name for Apache2::SubProcess: programs with handles.

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

The methods of Apache::SubProcess's own interface on CPAN do not exist.

=head1 SEE ALSO

L<Apache2::SubProcess>.

=cut
