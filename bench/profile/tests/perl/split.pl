# Measures its shares of processor time (60, 30 and 10 percent), and its share of time in `waits`.
# Prints both at the end.
use strict; use warnings;
use Digest::MD5 qw(md5);
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID CLOCK_MONOTONIC);
my $text = 'x' x 20_000;
my $x = 0;
my %spent;
sub loops {
    for my $i (1 .. shift) { $x = ($x * 7 + $i) % 1009 }
}
sub matches {
    my $t = ("ab" x 74) . "c"; # no match
    for (1..shift) { $x++ if $t =~ /(?:a|b)*[d-f]/ }
}
sub digests {
    $x ^= length md5($text) for 1 .. shift;
}
sub waits { select undef, undef, undef, 0.004 }
my $end = 0;
local $SIG{TERM} = sub { $end = 1 };
$| = 1; print "ready\n";
my %n = (loops => 56_000, digests => 44, matches => 1);
my %code = (loops => \&loops, digests => \&digests, matches => \&matches);
sub cpu { clock_gettime(CLOCK_PROCESS_CPUTIME_ID) }
sub wall { clock_gettime(CLOCK_MONOTONIC) }
my ($begun, $waited) = (wall(), 0);
while (!$end) {
    for my $name (qw(loops digests matches)) {
        my $before = cpu();
        $code{$name}->($n{$name});
        $spent{$name} += cpu() - $before;
    }
    my $before = wall();
    waits();
    $waited += wall() - $before;
}
my $all = 0; $all += $_ for values %spent;
printf "%s %.2f\n", $_, 100 * $spent{$_} / $all for sort keys %spent;
printf "waits %.2f\n", 100 * $waited / (wall() - $begun);
