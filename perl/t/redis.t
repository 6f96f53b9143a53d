# Tests Mehari::State and Mehari::Cache in Redis: a hash that several processes share, locks that
# end with their holder, a restart of the Redis server.

use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use IO::Socket::UNIX ();
use POSIX ();
use Time::HiRes qw(sleep time);
use Mehari::Cache ();
use Mehari::State ();
use Mehari::State::Redis ();

my ($program) = grep { -x } map { "$_/redis-server" } split(/:/, $ENV{PATH}), '/usr/bin', '/usr/sbin';
plan skip_all => 'redis-server is not installed' unless $program;

my $folder = tempdir(CLEANUP => 1);
my $socket = "$folder/redis.sock";
my $server;

# Returns whether the Redis server answers. A server that listens may still be loading its data; it
# then answers LOADING.
sub is_ready {
    my $client = IO::Socket::UNIX->new(Peer => $socket) or return 0;
    print {$client} "PING\r\n";
    return (<$client> // '-LOADING') !~ /^-LOADING/;
}

sub start {
    my @password = @_;
    $server = fork // die "fork: $!";
    unless ($server) {
        open STDOUT, '>', "$folder/log" or die $!;
        { no warnings 'exec'; exec $program, '--port', 0, '--unixsocket', $socket, '--save', '', '--appendonly', 'yes', '--dir', $folder, @password }
        POSIX::_exit(1);
    }
    my $until = time + 20;
    until (is_ready()) {
        die "redis-server does not start\n" if time > $until;
        sleep 0.02;
    }
}

sub stop { kill TERM => $server; waitpid $server, 0; $server = undef }
END { if ($server) { local $?; stop() } }

# Runs code in a child process, which ends without running END blocks. Returns the process number.
sub apart {
    my ($code) = @_;
    my $child = fork // die "fork: $!";
    return $child if $child;
    my $done = eval { $code->(); 1 };
    print STDERR $@ unless $done;
    POSIX::_exit($done ? 0 : 1);
}

start('--requirepass', 's3cret:/@');
my $admin = Mehari::State::Redis::Connection->new("unix://$socket");
my $refused = eval { $admin->call('PING'); 'connected' } // $@;
like($refused, qr/Redis at \S+ refuses CLIENT: NOAUTH/, 'a missing password is reported');
{
    # The URL of a Unix socket cannot hold a password, so this `greet` sends the password and then
    # turns it off.
    local *Mehari::State::Redis::Connection::greet = sub {
        my ($self) = @_;
        $self->exchange('AUTH', 's3cret:/@');
        $self->exchange('CONFIG', 'SET', 'requirepass', '');
    };
    $admin->call('PING');
}
my $url = "unix://$socket";

tie my %hash, 'Mehari::State', "$url/visits" or die;
$hash{one} = 1;
$hash{"b\0\r\n\xff"} = "\0\r\n\xff" x 1000;
$hash{empty} = '';
is_deeply([$hash{one}, $hash{"b\0\r\n\xff"}, $hash{empty}, $hash{none}], [1, "\0\r\n\xff" x 1000, '', undef], 'values are bytes');
ok(exists $hash{empty} && !exists $hash{none}, 'exists');
is(join(' ', sort { $a cmp $b } map { length } keys %hash), '3 5 5', 'keys');
is(delete $hash{one}, 1, 'delete returns the value');
ok(!exists $hash{one}, 'a deleted key does not exist');
eval { $hash{"\x{263a}"} = 1 };
like($@, qr/wide character/, 'a wide character is refused');
tie my %same, 'Mehari::State', 'visits', in => $url;
is($same{empty}, '', 'the option `in` names the same hash');
tie my %structures, 'Mehari::State::Structures', 'deep', in => $url;
$structures{list} = [1, { two => "\x{263a}" }];
is_deeply($structures{list}, [1, { two => "\x{263a}" }], 'structures');
%hash = ();
is(scalar(keys %hash), 0, 'clear');
is(scalar(keys %structures), 1, 'clear leaves other hashes');
ok((tied %hash)->report->{live} > 0, 'report');

# Four processes together count to 200.
my @children = map { apart(sub {
    my $store = tied %hash;
    for (1 .. 50) { $store->Lock; $hash{n}++; $store->UnLock }
}) } 1 .. 4;
is((grep { waitpid $_, 0; $? } @children), 0, 'four writers end without an error');
is($hash{n}, 200, 'no update under the lock is lost');

# The death of a holder frees its lock, and its incomplete work has no effect.
pipe my $begun, my $begin or die $!;
my $holder = apart(sub { (tied %hash)->Lock; $hash{n} = 'held'; syswrite $begin, 'x'; sleep 100 });
sysread $begun, my $byte, 1;
my $reader = apart(sub { $hash{n} eq 'held' or die "read $hash{n}\n" });
sleep 0.1;
is(waitpid($reader, POSIX::WNOHANG()), 0, 'another process waits for the lock');
kill KILL => $holder;
waitpid $holder, 0;
waitpid $reader, 0;
is($?, 0, 'the wait ends with the death of the holder');

# If another process frees a lock, the holder has lost the lock.
(tied %hash)->Lock;
$admin->call('DEL', 'mehari:lock:visits');
eval { $hash{n} = 'lost' };
like($@, qr/^Mehari::State: the lock was lost/, 'a lost lock is reported');
(tied %hash)->UnLock;
isnt($hash{n}, 'lost', 'nothing is written without the lock');

# Mehari::Cache.
my $cache = Mehari::Cache->new(in => $url, namespace => 'shop');
$cache->set(deep => { list => [1] }, ttl => 100);
is_deeply($cache->get('deep'), { list => [1] }, 'a cached value');
$cache->set(short => 'x', ttl => 0.05);
sleep 0.06;
is($cache->get('short'), undef, 'an expired value is not returned');
is(Mehari::Cache->new(in => $url, namespace => 'other')->get('deep'), undef, 'another namespace does not see the value');
my $made = "$folder/made";
@children = map { apart(sub {
    my $value = $cache->compute('page', ttl => 100, sub { open my $out, '>>', $made or die $!; syswrite $out, 'x'; sleep 0.1; 'the page' });
    die "got $value\n" unless $value eq 'the page';
}) } 1 .. 6;
is((grep { waitpid $_, 0; $? } @children), 0, 'six processes get the value');
is(-s $made, 1, 'one process has computed the value');
my $listed = Mehari::Cache->new(in => $url, namespace => 'listed*');
$listed->set($_ => 1) for qw(one two);
is_deeply([sort $listed->keys], [qw(one two)], 'keys');
is(scalar(Mehari::Cache->new(in => $url, namespace => 'other')->keys), 0, 'another namespace has no keys');
$cache->clear;
is($cache->get('deep'), undef, 'clear');
{
    local $ENV{MEHARI_CACHE} = $url;
    Mehari::Cache->set(mine => 'here');
    is(Mehari::Cache->get('mine'), 'here', 'MEHARI_CACHE names the cache');
}
is(Mehari::Cache->get('mine'), undef, 'without MEHARI_CACHE another cache is used');

# The Redis server is stopped and started again.
$hash{kept} = 'yes';
stop();
eval { my $gone = $hash{kept} };
like($@, qr/Mehari::State: cannot connect to Redis at \S+: /, 'a stopped server is reported');
start();
is($hash{kept}, 'yes', 'a restarted server is used again') or diag $@;

for my $wrong ('redis://', 'redis://host:port/1/x', 'redis://h/1/2/x') {
    eval { tie my %wrong, 'Mehari::State', $wrong };
    like($@, qr/^Mehari::State: .*expected redis:/, "'$wrong' is refused");
}
eval { Mehari::Cache->new(in => $url, size => '1M') };
like($@, qr/goes without folder and size/, 'a size is Redis\' own');

done_testing;
