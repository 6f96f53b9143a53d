# Mehari::Cache: values with a lifetime, computed once for concurrent callers, within a size limit.

use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use Time::HiRes qw(sleep);
use Mehari::Cache ();

my $folder = tempdir(CLEANUP => 1);
my $cache = Mehari::Cache->new(folder => $folder, size => '1M');

is($cache->get('none'), undef, 'nothing is there');
is($cache->set(one => 1), 1, 'set answers the value');
$cache->set(deep => { list => [1, "\x{263a}"] }, ttl => 100);
is_deeply([$cache->get('one'), $cache->get('deep')], [1, { list => [1, "\x{263a}"] }], 'values of any kind');
$cache->set(short => 'x', ttl => 0.05);
sleep 0.06;
is($cache->get('short'), undef, 'its time is over');
$cache->remove('one');
is($cache->get('one'), undef, 'removed');
my $other = Mehari::Cache->new(folder => $folder, size => '1M', namespace => 'other');
is($other->get('deep'), undef, 'a namespace of its own');

# Ten processes concurrently request a value that takes a while to compute.
my $made = "$folder/made";
sub has_made { open my $out, '>>', $made or die $!; syswrite $out, "x" }
my @children = map { fork || do {
    my $value = $cache->compute('page', ttl => 100, sub { has_made(); sleep 0.1; 'the page' });
    require POSIX;
    POSIX::_exit($value eq 'the page' ? 0 : 1);
} } 1 .. 10;
my $failed = grep { waitpid $_, 0; $? } @children;
is($failed, 0, 'ten get it');
is(-s $made, 1, 'one has made it');

# While one process computes it anew, the others get the old value. If that process is killed, the
# next one computes it.
$cache->set(old => 'old', ttl => 0, stale => 100);
pipe my $begun, my $begin or die $!;
my $maker = fork || do { $cache->compute('old', ttl => 100, sub { syswrite $begin, 'x'; sleep 100 }) };
sysread $begun, my $byte, 1;
is($cache->compute('old', ttl => 100, sub { 'new' }), 'old', 'stale while another one makes it');
kill KILL => $maker;
waitpid $maker, 0;
is($cache->compute('old', ttl => 100, sub { 'new' }), 'new', 'a killed maker holds nobody up');
is(eval { $cache->compute('dies', sub { die "no\n" }) } // $@, "no\n", 'what the sub dies of');
is($cache->compute('dies', sub { undef }), undef, 'undef is a value');
is($cache->compute('dies', sub { 'again' }), undef, 'and kept');

$cache->set("fill$_" => $_ x 2000) for 1 .. 3000;
cmp_ok(-s "$folder/mehari.cache", '<', 2 << 20, 'the size is bounded');
is(substr($cache->get('fill3000'), 0, 4), '3000', 'the newest is there');
is($cache->get('fill1'), undef, 'the oldest has given way');

for (['set', 'k', 'v', tll => 1], ['set', 'k', 'v', ttl => 'x'], ['compute', 'k', ttl => 1], ['get', '']) {
    my ($method, @arguments) = @$_;
    eval { $cache->$method(@arguments) };
    like($@, qr/^Mehari::Cache: .*(?:expected|needs|needed)/, "@$_[0, 1] is refused");
}
eval { Mehari::Cache->new(folder => $folder, size => '12') };
like($@, qr/at least 1M/, 'a size too small');

done_testing;
