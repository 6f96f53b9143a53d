# Tests how wrk's output is read: units, counts, and the errors that are faults of the server.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Wrk;

my $GOOD = <<'END';
Running 1s test @ http://127.0.0.1:8080/hello
  1 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   412.20us  110.00us   4.10ms   90.00%
    Req/Sec    70.10k     2.00k   74.00k    70.00%
  Latency Distribution
     50%  398.00us
     75%    1.20ms
     90%    2.00ms
     99%    1.25s 
  76543 requests in 1.10s, 9.00MB read
Requests/sec:  69584.55
Transfer/sec:      8.18MB
END

my $result = Wrk::read_report($GOOD);
is $result->{requests}, 76543,     'requests are those of the whole run';
is $result->{rate},     69584.55,  'the rate is wrk\'s own';
is $result->{p50},      398,       'microseconds stay';
is $result->{p99},      1_250_000, 'seconds become microseconds';
is $result->{bytes},    9 * 2**20, 'bytes are counted in units of 1024';
is $result->{elapsed},  1.1,       'and the time they took';
is $result->{faults},   '',        'a good run has no faults';

my %FAULTS = (
    "  Socket errors: connect 0, read 120, write 0, timeout 0\n" => 'closes unannounced',
    "  Socket errors: connect 3, read 0, write 0, timeout 9\n"   => '3 connect errors; 9 timeout errors',
    "  Non-2xx or 3xx responses: 17\n"                           => '17 answers not 2xx or 3xx',
);
is(Wrk::faults($GOOD . $_), $FAULTS{$_}, "fault: $FAULTS{$_}") for sort keys %FAULTS;

my $none = Wrk::read_report("  Latency Distribution\n     50%    0.00us\n     99%    0.00us\n  0 requests in 1.00s, 0.00B read\nRequests/sec:      0.00\n");
is $none->{p50}, undef, 'without an answer there is no time of one';
is $none->{faults}, 'no answer within the run', '... and that is said';

ok !eval { Wrk::read_report("unable to connect to 127.0.0.1:1 Connection refused\n") }, 'a report without figures is refused';
like $@, qr/not understood/, '... in words';

done_testing;
