# Runs h2load against one address: HTTP/2 with several streams on each of a few connections.
package H2load;
use strict;
use warnings;
use Distance;
use Processes;

# The divisor of the number of connections. The streams of one connection keep a server busy, so an
# eighth of the connections is enough.
my $FEWER = 8;

sub installed { return grep { -x "$_/h2load" } split /:/, $ENV{PATH} // '' }

# Gets url, connections, streams and seconds. Returns the same as Wrk::run, but without percentiles,
# which h2load does not report.
sub run { my @run = @_; return Distance::noted(sub { load(@run) }) }

sub load {
    my (%run) = @_;
    my $connections = int($run{connections} / $FEWER) || 1;
    my $before = Processes::waited_for();
    open my $output, '-|', 'h2load', '-t1', "-c$connections", "-m$run{streams}", "-D$run{seconds}", $run{url}
        or die "cannot run h2load: $!\n";
    my $said = do { local $/; <$output> } // '';
    close $output or die "h2load failed on $run{url}:\n$said";
    return {%{read_report($said)}, client_seconds => Processes::waited_for() - $before};
}

sub read_report {
    my ($said) = @_;
    my ($rate) = $said =~ m{^finished in .*?, ([\d.]+) req/s}m or die "h2load's report is not understood:\n$said";
    my ($good, $failed, $errored, $late) = $said =~ /(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/
        or die "h2load's report is not understood:\n$said";
    my ($other) = $said =~ /status codes: \d+ 2xx, (.*)$/m;
    my @faults = grep { /^[1-9]/ } "$failed failed", "$errored errored", "$late timed out", split /, /, $other // '';
    push @faults, 'spoke no h2' unless $said =~ /^Application protocol: h2$/m;
    return {requests => $good, rate => $rate, faults => join '; ', @faults};
}

1;
