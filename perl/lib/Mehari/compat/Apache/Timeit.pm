package Apache::Timeit;

# Logs the elapsed time and the processor time of each request, from the fixup phase to the end of
# the request: `PerlFixupHandler Apache::Timeit`. The access log's %D measures the whole request and
# costs the worker nothing.

use strict;
use warnings;
use Apache2::Const       ();
use Apache2::Log         ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Benchmark ();

sub handler {
    my ($r) = @_;
    return Apache2::Const::DECLINED unless $r->is_initial_req;
    my $start = Benchmark->new;
    $r->push_handlers(PerlCleanupHandler => sub {
        my ($r) = @_;
        my $took = Benchmark::timestr(Benchmark::timediff(Benchmark->new, $start));
        $r->warn('timing request for ' . $r->uri . ": $took");
        return Apache2::Const::OK;
    });
    return Apache2::Const::DECLINED;
}

1;

__END__

=head1 NAME

Apache::Timeit - log the time of each request

=head1 SYNOPSIS

    PerlFixupHandler Apache::Timeit

=head1 DESCRIPTION

The error log gets a line at the level warn with the elapsed and the processor time, from the
fixup phase to the cleanup.

=head1 FUNCTIONS

=over 4

=item handler(R)

Notes the time and registers the log line for the end of the request. Returns DECLINED.

=back

=head1 DIFFERENCES

C<%D> in a format of the access log measures the whole request and costs the worker (the process
that runs the Perl code) nothing.

=head1 SEE ALSO

F<docs/reference/logs.md>.

=cut
