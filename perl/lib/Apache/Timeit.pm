package Apache::Timeit;

# Logs what each request took of time and processor from the fixup phase to its end: `PerlFixupHandler Apache::Timeit`.
# `mehari profile` and the access log's %D measure without touching the worker.

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
