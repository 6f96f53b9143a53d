# A client that requests one small page at a fixed pace, and the time of its slowest hundredth.
# A request's time counts from the moment it was due, so that a stall counts for every request due
# in it. The client has real-time priority where that is allowed: its own wait for a processor is
# not the server's.
package Probe;
use strict;
use warnings;
use IO::Socket::INET;
use POSIX ();
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(sleep time);

my $PACE = 0.002;

# port, path, proof (a pattern that the end of the answer matches), seconds. Starts at once, in a
# process of its own. The returned function waits for that process and returns {p50, p99, most
# (µs)}, or dies.
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

# Without real-time priority the figures include some of the client's own waiting, so they are
# higher, never lower.
sub go_first { return system("chrt --fifo --pid 10 $$ >/dev/null 2>&1") == 0 }

1;
