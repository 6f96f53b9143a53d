# Tests how h2load's report is read: rate, answers, failures.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use H2load;

my $REPORT = <<'END';
Application protocol: h2

finished in 3.00s, 51234.67 req/s, 12.34MB/s
requests: 153704 total, 153832 started, 153704 done, 153704 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 153704 2xx, 0 3xx, 0 4xx, 0 5xx
END

is_deeply H2load::read_report($REPORT), {requests => 153704, rate => 51234.67, faults => ''}, 'a good run';
my $bad = $REPORT =~ s/153704 succeeded, 0 failed/153700 succeeded, 4 failed/r =~ s/153704 2xx, 0 3xx, 0 4xx/153700 2xx, 0 3xx, 4 4xx/r;
is H2load::read_report($bad)->{faults}, '4 failed; 4 4xx', 'failures are told';
like H2load::read_report($REPORT =~ s/protocol: h2/protocol: http\/1.1/r)->{faults}, qr/spoke no h2/, 'another protocol is told';
ok !eval { H2load::read_report("nothing\n") }, 'another text is refused';

done_testing;
