package Apache::Timeit;

# Logs the wall-clock and processor time of each request from the fixup phase to its end:
# `PerlFixupHandler Apache::Timeit`. The access log's %D measures without cost for the worker.

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
