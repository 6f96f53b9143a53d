package Apache::SizeLimit;

# Ends workers that have grown too large: gives Apache2::SizeLimit its name and its variables of
# mod_perl 1.

use strict;
use warnings;
use Apache2::SizeLimit ();

our @ISA = ('Apache2::SizeLimit');
our ($MAX_PROCESS_SIZE, $MIN_SHARE_SIZE, $MAX_UNSHARED_SIZE, $CHECK_EVERY_N_REQUESTS);

*Apache2::SizeLimit::MAX_PROCESS_SIZE       = \$MAX_PROCESS_SIZE;
*Apache2::SizeLimit::MIN_SHARE_SIZE         = \$MIN_SHARE_SIZE;
*Apache2::SizeLimit::MAX_UNSHARED_SIZE      = \$MAX_UNSHARED_SIZE;
*Apache2::SizeLimit::CHECK_EVERY_N_REQUESTS = \$CHECK_EVERY_N_REQUESTS;

sub handler { return Apache2::SizeLimit::handler(@_) }

1;

__END__

=head1 NAME

Apache::SizeLimit - mod_perl 1's name for Apache2::SizeLimit

=head1 SYNOPSIS

    use Apache::SizeLimit;
    $Apache::SizeLimit::MAX_PROCESS_SIZE = 300_000;    # KiB

=head1 DESCRIPTION

The class is an L<Apache2::SizeLimit>. C<PerlCleanupHandler Apache::SizeLimit> checks after each
request.

=head1 VARIABLES

=over 4

=item $MAX_PROCESS_SIZE, $MIN_SHARE_SIZE, $MAX_UNSHARED_SIZE

The limits in KiB.

=item $CHECK_EVERY_N_REQUESTS

The number of requests between two checks.

=back

=head1 FUNCTIONS

=over 4

=item handler(R)

Does the same as the handler of Apache2::SizeLimit.

=back

=head1 DIFFERENCES

See L<Apache2::SizeLimit>. The variables of the two modules are the same.

=head1 SEE ALSO

L<Apache2::SizeLimit>.

=cut
