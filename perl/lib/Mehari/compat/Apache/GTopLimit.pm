package Apache::GTopLimit;

# Has workers replaced that have grown too large: the interface of Apache::GTopLimit over
# Apache2::SizeLimit. GTop itself is not needed.

use strict;
use warnings;
use Apache2::SizeLimit ();

our @ISA = ('Apache2::SizeLimit');
our ($MAX_PROCESS_SIZE, $MIN_PROCESS_SHARED_SIZE, $MAX_PROCESS_UNSHARED_SIZE, $CHECK_EVERY_N_REQUESTS, $DEBUG);

# The variables are those of Apache2::SizeLimit. A value that was set before stays.
BEGIN {
    $Apache2::SizeLimit::MAX_PROCESS_SIZE = $Apache::GTopLimit::MAX_PROCESS_SIZE if defined $Apache::GTopLimit::MAX_PROCESS_SIZE;
    $Apache2::SizeLimit::MIN_SHARE_SIZE = $Apache::GTopLimit::MIN_PROCESS_SHARED_SIZE if defined $Apache::GTopLimit::MIN_PROCESS_SHARED_SIZE;
    $Apache2::SizeLimit::MAX_UNSHARED_SIZE = $Apache::GTopLimit::MAX_PROCESS_UNSHARED_SIZE if defined $Apache::GTopLimit::MAX_PROCESS_UNSHARED_SIZE;
    $Apache2::SizeLimit::CHECK_EVERY_N_REQUESTS = $Apache::GTopLimit::CHECK_EVERY_N_REQUESTS if defined $Apache::GTopLimit::CHECK_EVERY_N_REQUESTS;
    $Apache2::SizeLimit::DEBUG = $Apache::GTopLimit::DEBUG if defined $Apache::GTopLimit::DEBUG;
    *MAX_PROCESS_SIZE = \$Apache2::SizeLimit::MAX_PROCESS_SIZE;
    *MIN_PROCESS_SHARED_SIZE = \$Apache2::SizeLimit::MIN_SHARE_SIZE;
    *MAX_PROCESS_UNSHARED_SIZE = \$Apache2::SizeLimit::MAX_UNSHARED_SIZE;
    *CHECK_EVERY_N_REQUESTS = \$Apache2::SizeLimit::CHECK_EVERY_N_REQUESTS;
    *DEBUG = \$Apache2::SizeLimit::DEBUG;
}

sub handler { return Apache2::SizeLimit::handler(@_) }

sub set_max_size          { return Apache2::SizeLimit::setmax(@_) }
sub set_min_shared_size   { return Apache2::SizeLimit::setmin(@_) }
sub set_max_unshared_size { return Apache2::SizeLimit::setmax_unshared(@_) }

1;

__END__

=head1 NAME

Apache::GTopLimit - replace workers that have grown too large

=head1 SYNOPSIS

    use Apache::GTopLimit;
    $Apache::GTopLimit::MAX_PROCESS_SIZE        = 300_000;    # KiB
    $Apache::GTopLimit::MIN_PROCESS_SHARED_SIZE = 4096;

=head1 DESCRIPTION

With the line C<PerlFixupHandler Apache::GTopLimit> in the configuration, a worker checks its memory
after a request and is replaced if a limit is exceeded. The class is an L<Apache2::SizeLimit>.

=head1 VARIABLES

=over 4

=item $MAX_PROCESS_SIZE, $MIN_PROCESS_SHARED_SIZE, $MAX_PROCESS_UNSHARED_SIZE

The limits in KiB.

=item $CHECK_EVERY_N_REQUESTS

The number of requests between two checks.

=item $DEBUG

If true, each check writes the sizes to the error log.

=back

=head1 CLASS METHODS

=over 4

=item set_max_size(KIB), set_min_shared_size(KIB), set_max_unshared_size(KIB)

Set a limit. Within a request they have this request checked too, without a handler in the
configuration.

=item handler(R)

Does the same as the handler of Apache2::SizeLimit.

=back

=head1 DIFFERENCES

The sizes come from the kernel. Neither libgtop nor the module GTop is needed. The variables are
aliases of the variables of Apache2::SizeLimit.

=head1 SEE ALSO

L<Apache2::SizeLimit>.

=cut
