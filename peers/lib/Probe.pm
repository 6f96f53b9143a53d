# Requests one small page at a fixed pace, and reports the time of the slowest hundredth.
#
# The time of a request counts from the moment at which the request was due, so a pause of the
# server counts for every request that was due in the pause. Where it is allowed, the client has
# real-time priority, because its own waiting for a processor must not count as the server's.
package Probe;
use strict;
use warnings;
use IO::Socket::INET;
use POSIX ();
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(sleep time);

my $PACE = 0.002;

# Gets port, path, proof (a pattern that matches the end of the response) and seconds. Starts the
# client at once, in a process of its own. Returns a function that waits for this process and
# returns {p50, p99, most (µs)}, or dies.
sub begin {
    my (%given) = @_;
    my $pid = open(my $said, '-|') // die "cannot fork: $!\n";
    if (!$pid) {
        my $result = eval { ask(%given) } // "probe: $@";
        print $result;
        close STDOUT;
        POSIX::_exit(0);
    }
    return sub {
        my $line = <$said> // '';
        close $said;
        my %result;
        @result{qw(p50 p99 most)} = $line =~ /^(\d+) (\d+) (\d+)$/ or die $line || "probe: it ended without a word\n";
        return \%result;
    };
}

sub ask {
    my (%given) = @_;
    go_first();
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $given{port}) or die "no connection: $@\n";
    setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
    my $count = int $given{seconds} / $PACE;
    my ($due, @times) = (time);
    for (1 .. $count) {
        my $early = $due - time;
        sleep $early if $early > 0;
        syswrite $socket, "GET $given{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" or die "the connection was closed\n";
        my $answer = '';
        until ($answer =~ $given{proof}) { sysread $socket, $answer, 65536, length $answer or die "an answer was cut off\n" }
        push @times, 1e6 * (time - $due);
        $due += $PACE;
    }
    @times = sort { $a <=> $b } @times;
    return sprintf "%d %d %d\n", @times[0.5 * @times, 0.99 * @times, -1];
}

# Sets real-time priority. Without it, the figures also contain waiting of the client itself, so
# they are higher and never lower.
sub go_first { return system("chrt --fifo --pid 10 $$ >/dev/null 2>&1") == 0 }

1;
