package Apache2::MPM;

# The server's process model, in the terms of Apache's multi-processing modules.

use strict;
use warnings;

sub is_threaded { return 0 }

sub show { return 'prefork' }

# The number of workers varies (MPMQ_IS_FORKED 3 is MPMQ_DYNAMIC 2). All other answers are no.
sub query { my ($class, $what) = @_ > 1 ? @_ : (undef, @_); return $what == 3 ? 2 : $what >= 1 && $what <= 16 ? 0 : undef }

1;

__END__

=head1 NAME

Apache2::MPM - the process model in Apache's terms

=head1 SYNOPSIS

    use Apache2::MPM ();
    die "this module needs processes\n" if Apache2::MPM->is_threaded;

=head1 DESCRIPTION

Workers are processes with one thread of the server.

=head1 CLASS METHODS

=over 4

=item show

Always C<prefork>.

=item is_threaded

Always 0.

=item query(CODE)

For MPMQ_IS_FORKED, MPMQ_DYNAMIC. For other codes from 1 to 16, 0. Otherwise undef.

=back

=head1 DIFFERENCES

Numbers of workers are not told: see C<mehari status>.

=head1 SEE ALSO

L<Apache2::Const>, L<Apache2::Process>.

=cut
