package Apache2::porting;

# Loads Apache2::compat, which has mod_perl 1's methods.

use strict;
use warnings;
use Apache2::compat ();

1;

__END__

=head1 NAME

Apache2::porting - helps to move from mod_perl 1 to 2

=head1 SYNOPSIS

    use Apache2::porting ();

=head1 DESCRIPTION

Under mod_perl this module reports methods that mod_perl 2 does not have. Here these methods
exist.

=head1 DIFFERENCES

The module reports nothing. It loads L<Apache2::compat>.

=head1 SEE ALSO

L<Apache2::compat>, L<ModPerl::MethodLookup>.

=cut
