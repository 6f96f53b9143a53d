# Tests the probe with a server that delays a known part of its answers.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::INET;
use POSIX ();
use Probe;
use Test::More;

# Starts a server that answers this number of requests on one connection, some of them after a tenth
# of a second.
sub serve {
    my ($answers, $every) = @_;
    my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1) or die "no port: $!\n";
    my $pid = fork // die "cannot fork: $!\n";
    if (!$pid) {
        my $client = $listener->accept;
        for my $number (1 .. $answers) {
            sysread $client, my $request, 4096 or last;
            select undef, undef, undef, 0.1 if $every && $number % $every == 0;
            syswrite $client, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nend\n";
        }
        POSIX::_exit(0);
    }
    return ($listener->sockport, $pid);
}

sub probe {
    my ($port, $seconds) = @_;
    return Probe::begin(port => $port, path => '/', proof => qr/end\n\z/, seconds => $seconds);
}

my ($port, $pid) = serve(100);
my $fast = probe($port, 0.2)->();
waitpid $pid, 0;
ok $fast->{p50} <= $fast->{p99} && $fast->{p99} <= $fast->{most}, 'figures are in order';

# One answer of a hundred takes a tenth of a second. The fifty requests that are due in this time
# are late too.
($port, $pid) = serve(200, 100);
my $slow = probe($port, 0.4)->();
waitpid $pid, 0;
cmp_ok $slow->{most}, '>=', 100_000, 'the slowest answer shows';
cmp_ok $slow->{p99},  '>=', 90_000,  'and so do those who came while it was made';

($port, $pid) = serve(5);
ok !eval { probe($port, 0.2)->() }, 'a server that goes is no result';
like $@, qr/closed|cut off/, '... and that is said';
waitpid $pid, 0;

done_testing;
