package Apache2::SizeLimit;

# Has a worker replaced that has grown too large, after the request: `PerlCleanupHandler
# Apache2::SizeLimit`. Sizes are in KiB. The server has limits of its own (MaxWorkerMemory). This
# module is for sites that use Apache2::SizeLimit already.

use strict;
use warnings;
use Apache2::Const       ();
use Apache2::RequestUtil ();
use APR::Pool ();

our $VERSION = '0.97';
our ($MAX_PROCESS_SIZE, $MIN_SHARE_SIZE, $MAX_UNSHARED_SIZE, $CHECK_EVERY_N_REQUESTS, $DEBUG);
our $USE_SMAPS = 1;

my $requests = 0;
my $will_check = 0;    # whether the running request is checked at its end

sub set_max_process_size       { my ($class, $size) = @_; $MAX_PROCESS_SIZE       = $size; return }
sub set_max_unshared_size      { my ($class, $size) = @_; $MAX_UNSHARED_SIZE      = $size; return }
sub set_min_shared_size        { my ($class, $size) = @_; $MIN_SHARE_SIZE         = $size; return }
sub set_check_interval         { my ($class, $size) = @_; $CHECK_EVERY_N_REQUESTS = $size; return }
sub get_max_process_size       { return $MAX_PROCESS_SIZE }
sub get_max_unshared_size      { return $MAX_UNSHARED_SIZE }
sub get_min_shared_size        { return $MIN_SHARE_SIZE }
sub get_check_interval         { return $CHECK_EVERY_N_REQUESTS || 1 }

# mod_perl 1's names, called as a method or as a function. Within a request they also have this
# request checked, so that a script needs no line in the configuration.
sub setmax          { $MAX_PROCESS_SIZE  = pop; return _check_this_request() }
sub setmin          { $MIN_SHARE_SIZE    = pop; return _check_this_request() }
sub setmax_unshared { $MAX_UNSHARED_SIZE = pop; return _check_this_request() }

sub handler {
    my $r = pop;
    $r = Apache2::RequestUtil->request unless ref $r;
    return Apache2::Const::DECLINED unless $r->is_initial_req;
    return Apache2::Const::OK if ++$requests % get_check_interval();
    _check_after($r);
    return Apache2::Const::DECLINED;
}

sub add_cleanup_handler { my ($class, $r) = @_; return _check_after($r || Apache2::RequestUtil->request) }

sub _check_this_request {
    my $r = eval { Apache2::RequestUtil->request };
    _check_after($r) if $r;
    return;
}

# The check runs with the pool, after the other cleanup handlers have freed their memory. A request
# is checked once.
sub _check_after {
    my ($r) = @_;
    my $main = $r->main || $r;
    $main->pool->cleanup_register(\&_check) unless $will_check++;
    return;
}

sub _check {
    $will_check = 0;
    my ($size, $shared) = _size();
    return unless defined $size;
    my $unshared = $size - $shared;
    Mehari::log_line(5, "Apache2::SizeLimit: size $size KiB, shared $shared KiB, unshared $unshared KiB") if $DEBUG;
    my $reason
        = $MAX_PROCESS_SIZE && $size > $MAX_PROCESS_SIZE         ? "size $size KiB is over $MAX_PROCESS_SIZE"
        : $MAX_UNSHARED_SIZE && $unshared > $MAX_UNSHARED_SIZE   ? "unshared $unshared KiB is over $MAX_UNSHARED_SIZE"
        : $MIN_SHARE_SIZE && $shared < $MIN_SHARE_SIZE           ? "shared $shared KiB is under $MIN_SHARE_SIZE"
        :                                                          return;
    Mehari::log_line(5, "Apache2::SizeLimit: the worker is replaced: $reason");
    Mehari::replace_worker();
    return;
}

# Returns the size of the process and of its shared part in KiB.
sub _size {
    open my $in, '<', '/proc/self/smaps_rollup' or return _status_size();
    my ($size, $shared) = (0, 0);
    while (my $line = <$in>) {
        $size = $1 if $line =~ /\ARss:\s+(\d+)/;
        $shared += $1 if $line =~ /\AShared_(?:Clean|Dirty):\s+(\d+)/;
    }
    return ($size, $shared);
}

sub _status_size {
    open my $in, '<', '/proc/self/statm' or return;
    my (undef, $resident, $shared) = split ' ', <$in>;
    return ($resident * 4, $shared * 4);
}

1;

__END__

=head1 NAME

Apache2::SizeLimit - end workers that have grown too large

=head1 SYNOPSIS

    use Apache2::SizeLimit;
    Apache2::SizeLimit->set_max_process_size(300_000);    # KiB
    Apache2::SizeLimit->set_check_interval(10);

=head1 DESCRIPTION

With the line C<PerlCleanupHandler Apache2::SizeLimit> in the configuration, a worker checks its
memory after a request and is replaced if a limit is exceeded. The error log gets a line with
the reason. The worker serves until its successor is ready.

=head1 VARIABLES

=over 4

=item $MAX_PROCESS_SIZE, $MAX_UNSHARED_SIZE, $MIN_SHARE_SIZE, $CHECK_EVERY_N_REQUESTS

The limits in KiB, and the number of requests between two checks.

=item $DEBUG

If true, each check writes the sizes to the error log.

=item $USE_SMAPS

Has no effect: the sizes always count what the kernel knows of each page.

=back

=head1 CLASS METHODS

=over 4

=item set_max_process_size(KIB), set_max_unshared_size(KIB), set_min_shared_size(KIB)

Set the limits in KiB. Without a limit, nothing is checked.

=item get_max_process_size, get_max_unshared_size, get_min_shared_size

Return the limits in KiB. A limit that is not set is undefined.

=item set_check_interval(NUMBER), get_check_interval

Set or return the number of requests between two checks. It is 1 at first.

=item setmax(KIB), setmin(KIB), setmax_unshared(KIB)

Do the same as the methods above, under mod_perl 1's names. They can also be called as functions. If
they are called within a request, the worker is checked after this request, even if the
configuration has no handler for this.

=item handler(R)

Checks the memory after the request. It is a handler of the cleanup phase.

=item add_cleanup_handler(R)

Checks the memory after this request.

=back

=head1 DIFFERENCES

The sizes are the kernel's figures: the resident memory, and its shared and unshared part. The
server has limits of its own, which need no Perl: MaxWorkerMemory, MaxUnsharedMemory and
MinSharedMemory.

=head1 SEE ALSO

L<Apache2::Resource>, F<docs/reference/directives.md>.

=cut
