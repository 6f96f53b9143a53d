# Tests Mehari::Cache: values expire, concurrent callers compute a value once, and the size is
# limited.

use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use Time::HiRes qw(sleep);
use Mehari::Cache ();

my $folder = tempdir(CLEANUP => 1);
my $cache = Mehari::Cache->new(folder => $folder, size => '1M');

is($cache->get('none'), undef, 'a missing key gives undef');
is($cache->set(one => 1), 1, 'set returns the value');
$cache->set(deep => { list => [1, "\x{263a}"] }, ttl => 100);
is_deeply([$cache->get('one'), $cache->get('deep')], [1, { list => [1, "\x{263a}"] }], 'get returns values of any kind');
$cache->set(short => 'x', ttl => 0.05);
sleep 0.06;
is($cache->get('short'), undef, 'an expired value is not returned');
$cache->remove('one');
is($cache->get('one'), undef, 'a removed value is not returned');
my $other = Mehari::Cache->new(folder => $folder, size => '1M', namespace => 'other');
is($other->get('deep'), undef, 'another namespace does not see the value');

# Ten processes ask at the same time for a value that takes a while to compute.
my $made = "$folder/made";
sub has_made { open my $out, '>>', $made or die $!; syswrite $out, "x" }
my @children = map { fork || do {
    my $value = $cache->compute('page', ttl => 100, sub { has_made(); sleep 0.1; 'the page' });
    require POSIX;
    POSIX::_exit($value eq 'the page' ? 0 : 1);
} } 1 .. 10;
my $failed = grep { waitpid $_, 0; $? } @children;
is($failed, 0, 'ten processes get the value');
is(-s $made, 1, 'one process has computed the value');

# While one process computes a new value, the others get the old value. If the computing process is
# killed, the next process computes the value.
$cache->set(old => 'old', ttl => 0, stale => 100);
pipe my $begun, my $begin or die $!;
my $maker = fork || do { $cache->compute('old', ttl => 100, sub { syswrite $begin, 'x'; sleep 100 }) };
sysread $begun, my $byte, 1;
is($cache->compute('old', ttl => 100, sub { 'new' }), 'old', 'the old value is returned while another process computes');
kill KILL => $maker;
waitpid $maker, 0;
is($cache->compute('old', ttl => 100, sub { 'new' }), 'new', 'after the death of that process, another process computes');
is(eval { $cache->compute('dies', sub { die "no\n" }) } // $@, "no\n", 'the exception of the sub reaches the caller');
is($cache->compute('dies', sub { undef }), undef, 'a sub may return undef');
is($cache->compute('dies', sub { 'again' }), undef, 'undef is stored');

$cache->set("fill$_" => $_ x 2000) for 1 .. 3000;
cmp_ok(-s "$folder/mehari.cache", '<', 2 << 20, 'the file does not outgrow its size');
is(substr($cache->get('fill3000'), 0, 4), '3000', 'the newest value is kept');
is($cache->get('fill1'), undef, 'the oldest value is dropped');

for (['set', 'k', 'v', tll => 1], ['set', 'k', 'v', ttl => 'x'], ['compute', 'k', ttl => 1], ['get', '']) {
    my ($method, @arguments) = @$_;
    eval { $cache->$method(@arguments) };
    like($@, qr/^Mehari::Cache: .*(?:expected|needs|needed)/, "@$_[0, 1] is refused");
}
eval { Mehari::Cache->new(folder => $folder, size => '12') };
like($@, qr/at least 1M/, 'a size that is too small is refused');

done_testing;
