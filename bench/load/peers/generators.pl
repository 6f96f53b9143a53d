#!/usr/bin/perl
# Measures how much processor time load generators need: each generator's requests per second of its
# own processor time (user + system). The server is nginx with `return 200` on loopback, with 32
# connections. The runs of the generators alternate.
#
#   bench/load/peers/generators.pl [--rounds 5] [--requests 300000] [--realtime] [--only NAME,...]
#
# The script needs nginx. It measures mehari and those of wrk, ab, h2load, hey and oha that are in
# PATH. The environment variable MEHARI names the mehari binary. --realtime runs all programs under
# SCHED_FIFO (root). On a busy machine the comparison otherwise depends on the scheduler.
use strict;
use warnings;
use Getopt::Long;
use File::Temp qw(tempdir);
use FindBin;
use IO::Socket::INET;

my %option = (rounds => 5, requests => 300_000, connections => 32);
GetOptions(\%option, 'rounds=i', 'requests=i', 'connections=i', 'realtime', 'only=s')
    or die "usage: $0 [--rounds N] [--requests N] [--connections N] [--realtime] [--only NAME,...]\n";

my $mehari = $ENV{MEHARI} || "$FindBin::Bin/../../../target/release/mehari";
-x $mehari or die "$mehari is not there: make build first, or set MEHARI\n";

my ($http1, $http2) = map { free_port() } 1 .. 2;
my $folder = tempdir(CLEANUP => 1);
my $nginx  = start_nginx();
END { if ($nginx) { local $?; kill TERM => $nginx; waitpid $nginx, 0 } }

my ($n, $c) = @option{qw(requests connections)};
my ($one, $two) = ("http://127.0.0.1:$http1/", "http://127.0.0.1:$http2/");
my @generators = (
    [ 'mehari'           => "$mehari bench --no-ceiling --json -c $c -n $n $one" ],
    [ 'wrk'              => "wrk -t1 -c$c -d%s $one" ],
    [ 'wrk -t2'          => "wrk -t2 -c$c -d%s $one" ],
    [ 'ab -k'            => "ab -q -k -c$c -n$n $one" ],
    [ 'h2load --h1'      => "h2load --h1 -c$c -n$n $one" ],
    [ 'oha'              => "oha --no-tui -c $c -n $n $one" ],
    [ 'hey'              => "hey -c $c -n $n $one" ],
    [ 'mehari --http2'   => "$mehari bench --no-ceiling --json --http2 -c $c -n $n $two" ],
    [ 'h2load'           => "h2load -c$c -n$n $two" ],
    [ 'mehari 10 streams' => "$mehari bench --no-ceiling --json --http2 --streams 10 -c $c -n $n $two" ],
    [ 'h2load -m10'      => "h2load -m10 -c$c -n$n $two" ],
);
@generators = grep { my ($program) = split ' ', $_->[1]; -x $program || in_path($program) } @generators;
if ($option{only}) {
    my %wanted = map { $_ => 1 } split /,/, $option{only};
    @generators = grep { $wanted{ $_->[0] } } @generators;
}

my (%per_cpu, %per_second);
for my $round (1 .. $option{rounds}) {
    for my $generator ($round % 2 ? @generators : reverse @generators) {
        my ($name, $command) = @$generator;
        my ($requests, $cpu, $wall) = measure($command);
        push @{ $per_cpu{$name} },    $requests / $cpu;
        push @{ $per_second{$name} }, $requests / $wall;
    }
}

printf "%-20s %14s %14s %10s   %s\n", 'generator', 'requests/CPU s', 'requests/s', 'mehari =', 'all rounds, requests/CPU s';
for my $generator (@generators) {
    my $name  = $generator->[0];
    my $ours  = $name =~ /10/ ? 'mehari 10 streams' : $name =~ /http2|^h2load$/ ? 'mehari --http2' : 'mehari';
    my $ratio = $per_cpu{$ours} ? sprintf '%.2f x', median(@{ $per_cpu{$ours} }) / median(@{ $per_cpu{$name} }) : '';
    printf "%-20s %14.0f %14.0f %10s   %s\n", $name, median(@{ $per_cpu{$name} }), median(@{ $per_second{$name} }),
        $ratio, join ' ', map { sprintf '%.0f', $_ } @{ $per_cpu{$name} };
}

# Runs one generator. Returns the requests, the processor seconds and the wall seconds.
sub measure {
    my ($command) = @_;
    my $seconds = 3;
    $command = sprintf $command, "${seconds}s" if $command =~ /%s/;
    my @words = ((realtime()), split ' ', $command);
    my @before = times;
    my $began  = time_now();
    open my $output, '-|', @words or die "$command: $!\n";
    my $text = do { local $/; <$output> };
    close $output or die "$command failed: $text\n";
    my $wall  = time_now() - $began;
    my @after = times;
    my $cpu   = ($after[2] - $before[2]) + ($after[3] - $before[3]);
    my $done  = $text =~ /(\d+) requests in/ ? $1 : $n;
    return ($done, $cpu, $wall);
}

sub realtime { $option{realtime} ? qw(chrt -f 10) : () }

sub time_now { require Time::HiRes; Time::HiRes::time() }

sub median { my @sorted = sort { $a <=> $b } @_; $sorted[ $#sorted / 2 ] }

sub in_path { my ($program) = @_; grep { -x "$_/$program" } split /:/, $ENV{PATH} }

sub free_port {
    my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die "no free port: $!\n";
    return $socket->sockport;
}

sub start_nginx {
    open my $file, '>', "$folder/nginx.conf" or die "$folder: $!\n";
    print $file <<"CONF";
worker_processes 1; daemon off; pid $folder/pid; error_log $folder/error.log;
events { worker_connections 4096; }
http {
    access_log off; keepalive_requests 100000000; keepalive_timeout 300;
    server { listen 127.0.0.1:$http1; location / { return 200 "hello\\n"; } }
    server { listen 127.0.0.1:$http2 http2; location / { return 200 "hello\\n"; } }
}
CONF
    close $file;
    my $pid = fork // die "fork: $!\n";
    if (!$pid) { exec realtime(), 'nginx', '-c', "$folder/nginx.conf" or die "nginx: $!\n" }
    for (1 .. 100) {
        return $pid if IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $http2);
        select undef, undef, undef, 0.05;
    }
    die "nginx does not answer\n";
}
