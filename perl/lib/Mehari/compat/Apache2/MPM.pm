package Apache2::MPM;

# Describes the server's processes in the terms of Apache's multi-processing modules.

use strict;
use warnings;

sub is_threaded { return 0 }

sub show { return 'prefork' }

# Answers questions about the workers. Their number varies: MPMQ_IS_FORKED (3) is MPMQ_DYNAMIC (2).
# The answer to all other questions is no (0).
sub query { my ($class, $what) = @_ > 1 ? @_ : (undef, @_); return $what == 3 ? 2 : $what >= 1 && $what <= 16 ? 0 : undef }

1;

__END__

=head1 NAME

Apache2::MPM - the process model in Apache's terms

=head1 SYNOPSIS

    use Apache2::MPM ();
    die "this module needs processes\n" if Apache2::MPM->is_threaded;

=head1 DESCRIPTION

A worker, which runs the Perl code, is a process with one thread.

=head1 CLASS METHODS

=over 4

=item show

Always returns C<prefork>.

=item is_threaded

Always returns 0.

=item query(CODE)

Returns MPMQ_DYNAMIC for MPMQ_IS_FORKED, 0 for the other codes from 1 to 16, and undef for any other
CODE.

=back

=head1 DIFFERENCES

C<query> tells no numbers of workers. C<mehari status> shows them.

=head1 SEE ALSO

L<Apache2::Const>, L<Apache2::Process>.

=cut
