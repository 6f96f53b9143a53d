# Runs wrk against one address and reports the rate, the times and the faults.
package Wrk;
use strict;
use warnings;
use Distance;
use Processes;

# The time limit of wrk. It is so long that a slow answer does not count as a fault.
my $PATIENCE = '30s';

my %MICROSECONDS = (us => 1, ms => 1e3, s => 1e6);

sub installed { return grep { -x "$_/wrk" } split /:/, $ENV{PATH} // '' }

# Gets url, connections, seconds, keep_alive, script (a Lua file for wrk) and coding (the value of
# Accept-Encoding). Returns {requests, rate, elapsed (s), bytes, p50, p99 (µs), client_seconds
# (wrk's own CPU time), distance (see Distance), faults (a text, '' if there are none)}.
sub run { my @run = @_; return Distance::noted(sub { load(@run) }) }

sub load {
    my (%run) = @_;
    my @close = $run{keep_alive} ? () : ('-H', 'Connection: close');
    push @close, '-s', $run{script} if $run{script};
    push @close, '-H', "Accept-Encoding: $run{coding}" if $run{coding};
    my $before = Processes::waited_for();
    open my $output, '-|', 'wrk', '-t1', "-c$run{connections}", "-d$run{seconds}s", '--latency', '--timeout', $PATIENCE, @close, $run{url}
        or die "cannot run wrk: $!\n";
    my $said = do { local $/; <$output> } // '';
    close $output or die "wrk failed on $run{url}:\n$said";
    return {%{read_report($said)}, client_seconds => Processes::waited_for() - $before};
}

sub read_report {
    my ($said) = @_;
    my ($requests) = $said =~ /(\d+) requests in/      or die "wrk's report is not understood:\n$said";
    my ($rate)     = $said =~ /Requests\/sec:\s+([\d.]+)/ or die "wrk's report is not understood:\n$said";
    my %result = (requests => $requests, rate => $rate, faults => faults($said));
    @result{qw(elapsed bytes)} = transfer($said);
    return {%result, faults => join '; ', 'no answer within the run', grep { length } $result{faults}} unless $requests;
    for my $percent (50, 99) {
        my ($time, $unit) = $said =~ /^\s+$percent%\s+([\d.]+)(us|ms|s)\s*$/m or next;
        $result{"p$percent"} = $time * $MICROSECONDS{$unit};
    }
    return \%result;
}

# Returns the seconds, and the number of bytes that were received in them, including bytes of
# incomplete answers.
sub transfer {
    my ($said) = @_;
    my ($seconds, $unit, $size, $scale) = $said =~ /requests in ([\d.]+)(ms|s|m), ([\d.]+)([KMGT]?)B read/ or die "wrk's report is not understood:\n$said";
    my %seconds = (ms => 1e-3, s => 1, m => 60);
    my %power   = ('' => 0, K => 1, M => 2, G => 3, T => 4);
    return ($seconds * $seconds{$unit}, $size * 1024 ** $power{$scale});
}

# Returns the faults as a text. If a server closes a connection without announcing it, wrk counts a
# read error although it has counted the answer. Some servers always close in this way, so this is
# reported apart from lost answers.
sub faults {
    my ($said) = @_;
    my @faults;
    push @faults, "$1 answers not 2xx or 3xx" if $said =~ /Non-2xx or 3xx responses: (\d+)/;
    if (my ($connect, $read, $write, $timeout) = $said =~ /connect (\d+), read (\d+), write (\d+), timeout (\d+)/) {
        push @faults, 'closes unannounced' if $read;
        push @faults, map { $_->[0] ? "$_->[0] $_->[1] errors" : () } [$connect, 'connect'], [$write, 'write'], [$timeout, 'timeout'];
    }
    return join '; ', @faults;
}

1;
