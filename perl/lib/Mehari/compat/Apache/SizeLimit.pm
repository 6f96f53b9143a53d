package Apache::SizeLimit;

# Has workers replaced that have grown too large: gives Apache2::SizeLimit its name and its
# variables of mod_perl 1.

use strict;
use warnings;
use Apache2::SizeLimit ();

our @ISA = ('Apache2::SizeLimit');
our ($MAX_PROCESS_SIZE, $MIN_SHARE_SIZE, $MAX_UNSHARED_SIZE, $CHECK_EVERY_N_REQUESTS, $DEBUG);

# The variables are those of Apache2::SizeLimit. A value that was set before stays.
BEGIN {
    $Apache2::SizeLimit::MAX_PROCESS_SIZE = $Apache::SizeLimit::MAX_PROCESS_SIZE if defined $Apache::SizeLimit::MAX_PROCESS_SIZE;
    $Apache2::SizeLimit::MIN_SHARE_SIZE = $Apache::SizeLimit::MIN_SHARE_SIZE if defined $Apache::SizeLimit::MIN_SHARE_SIZE;
    $Apache2::SizeLimit::MAX_UNSHARED_SIZE = $Apache::SizeLimit::MAX_UNSHARED_SIZE if defined $Apache::SizeLimit::MAX_UNSHARED_SIZE;
    $Apache2::SizeLimit::CHECK_EVERY_N_REQUESTS = $Apache::SizeLimit::CHECK_EVERY_N_REQUESTS if defined $Apache::SizeLimit::CHECK_EVERY_N_REQUESTS;
    $Apache2::SizeLimit::DEBUG = $Apache::SizeLimit::DEBUG if defined $Apache::SizeLimit::DEBUG;
    *MAX_PROCESS_SIZE = \$Apache2::SizeLimit::MAX_PROCESS_SIZE;
    *MIN_SHARE_SIZE = \$Apache2::SizeLimit::MIN_SHARE_SIZE;
    *MAX_UNSHARED_SIZE = \$Apache2::SizeLimit::MAX_UNSHARED_SIZE;
    *CHECK_EVERY_N_REQUESTS = \$Apache2::SizeLimit::CHECK_EVERY_N_REQUESTS;
    *DEBUG = \$Apache2::SizeLimit::DEBUG;
}

sub handler         { return Apache2::SizeLimit::handler(@_) }
sub setmax          { return Apache2::SizeLimit::setmax(@_) }
sub setmin          { return Apache2::SizeLimit::setmin(@_) }
sub setmax_unshared { return Apache2::SizeLimit::setmax_unshared(@_) }

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

=item $DEBUG

If true, each check writes the sizes to the error log.

=back

=head1 FUNCTIONS

=over 4

=item handler(R)

Does the same as the handler of Apache2::SizeLimit.

=item setmax(KIB), setmin(KIB), setmax_unshared(KIB)

Do the same as the functions of Apache2::SizeLimit.

=back

=head1 DIFFERENCES

See L<Apache2::SizeLimit>. The variables of the two modules are the same.

=head1 SEE ALSO

L<Apache2::SizeLimit>.

=cut
