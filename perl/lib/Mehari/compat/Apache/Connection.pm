package Apache::Connection;

# Gives Apache2::Connection its name of mod_perl 1.

use strict;
use warnings;
use Apache ();
use Apache2::Connection ();

our @ISA = ('Apache2::Connection');

1;

__END__

=head1 NAME

Apache::Connection - mod_perl 1's name for Apache2::Connection

=head1 SYNOPSIS

    use Apache::Connection ();

=head1 DESCRIPTION

The class is an L<Apache2::Connection> and adds no methods.

=head1 DIFFERENCES

C<< $r->connection >> returns an Apache2::Connection.

=head1 SEE ALSO

L<Apache2::Connection>.

=cut
