# Tests Mehari::State: a hash that processes share, locks, growth and limits of the file, killed
# writers, and damaged files.

use strict;
use warnings;
use Test::More;
use Fcntl qw(O_RDWR O_CREAT);
use File::Temp qw(tempdir);
use Mehari::State ();

my $folder = tempdir(CLEANUP => 1);

tie my %hash, 'Mehari::State', "$folder/one", O_RDWR | O_CREAT, 0640;
my %expected = (a => 1, '' => 'empty key', "\0\xff" => join('', map chr, 0 .. 255), big => 'x' x 300_000, empty => '');
$hash{$_} = $expected{$_} for sort keys %expected;
is_deeply({%hash}, \%expected, 'keys and values are any bytes');
$hash{a} = 2;
is(delete $hash{empty}, '', 'delete returns the value');
ok(!exists $hash{empty} && exists $hash{a} && !defined $hash{none}, 'exists, and undef for a missing key');
is_deeply([sort keys %hash], [sort '', "\0\xff", 'a', 'big'], 'keys lists each current key once');
is(scalar %hash, 4, 'a tied hash in scalar context is the number of keys');
tie my %other, 'Mehari::State', "$folder/other";
is_deeply([keys %other], [], 'another name is another hash');
$other{a} = 'other';
%hash = ();
is_deeply([{%hash}, {%other}], [{}, { a => 'other' }], 'clear empties only its own hash');
eval { $hash{wide} = chr 300 };
like($@, qr/wide character/, 'a wide character is refused');
eval { tie my %none, 'Mehari::State', "$folder/none/one" };
like($@, qr/cannot open .*none/, 'a missing folder is refused');
eval { tie my %none, 'Mehari::State', "$folder/x", O_RDWR, 0640, size => 3 };
like($@, qr/unknown option 'size'/, 'an unknown option is refused');

# Eight processes increment a value under the lock of the hash: fetch, change, store.
sub in_children {
    my ($count, $work) = @_;
    my @children = map { my $number = $_; fork || do { eval { $work->($number); 1 } or print STDERR $@; require POSIX; POSIX::_exit($@ ? 1 : 0) } } 1 .. $count;
    my $failed = 0;
    for (@children) { waitpid $_, 0; $failed++ if $? }
    return $failed;
}
is(in_children(8, sub {
    my $lock = tied %hash;
    for (1 .. 200) { $lock->Lock; $hash{sum}++; $lock->UnLock; $hash{"own$_[0]"} = $_ }
}), 0, 'eight writers end without an error');
is($hash{sum}, 1600, 'no update under the lock is lost');
is($hash{own8}, 200, 'no write without the lock is lost');

# Processes are killed while they write. Every value must stay whole.
for my $round (1 .. 15) {
    my $child = fork || do { for (my $i = 0;; $i++) { $hash{ 'k' . $i % 50 } = ($i % 10) x (1000 + $i % 3000) } };
    select undef, undef, undef, 0.005 * (1 + $round % 4);
    kill KILL => $child;
    waitpid $child, 0;
    my @broken = grep { /\Ak/ && $hash{$_} !~ /\A(\d)\1*\z/ } keys %hash;
    $hash{after} = $round;
    fail("round $round: @broken") if @broken || $hash{after} != $round;
}
is($hash{sum}, 1600, 'fifteen killed writers damage nothing');

tie my %small, 'Mehari::State', 'small', O_RDWR | O_CREAT, 0600, in => "$folder/small.state", limit => 1 << 20;
eval { $small{$_} = 'y' x 100_000 for 1 .. 20 };
like($@, qr/small\.state is full: \d+ bytes are in use, its limit is 1048576/, 'the message says that the store is full');
delete $small{$_} for 1 .. 20;
$small{$_ % 5} = 'z' x 50_000 for 1 .. 200;
cmp_ok(-s "$folder/small.state", '<=', (1 << 20) + (256 << 10), 'a full store is rewritten and does not outgrow its limit');

# A new process reads the store, and detects damage.
sub read_by_another { my $code = shift; my $out = qx($^X @{[map "-I$_", @INC]} -MMehari::State -e 'tie my %h, "Mehari::State", "$folder/other"; $code' 2>&1); $out }
is(read_by_another('print $h{a}'), 'other', 'another process reads the value');
untie %other;
open my $file, '+<:raw', "$folder/mehari.state" or die $!;
my $content = do { local $/; <$file> };
my $count = 0;
while ($content =~ /aother/g) { seek $file, pos($content) - 1, 0; print $file 'X'; $count++ }
close $file;
cmp_ok($count, '>', 0, 'the test has changed a byte of the file');
like(read_by_another('print $h{a}'), qr/mehari\.state is damaged: the value of "a"/, 'the changed value is reported as damage');
open $file, '>', "$folder/mehari.state.txt";
print $file "hello\n" x 1000;
close $file;
eval { tie my %text, 'Mehari::State', 'x', O_RDWR, 0600, in => "$folder/mehari.state.txt" };
like($@, qr/is no store of Mehari/, 'a file that is no store is refused');

SKIP: {
    eval { require MLDBM; require MLDBM::Sync } or skip 'MLDBM is not installed', 2;
    no warnings 'once';
    local ($MLDBM::UseDB, $MLDBM::Serializer) = ('Mehari::State', 'Storable');
    tie my %deep, 'MLDBM', "$folder/deep", O_RDWR | O_CREAT, 0640;
    $deep{list} = [1, { two => 2 }];
    is_deeply($deep{list}, [1, { two => 2 }], 'MLDBM stores structures');
    my $sync = tie my %sync, 'MLDBM::Sync', "$folder/deep", O_RDWR | O_CREAT, 0640;
    $sync->Lock;
    $sync{more} = { %{ $sync{list}[1] }, three => 3 };
    $sync->UnLock;
    is_deeply($sync{more}, { two => 2, three => 3 }, 'MLDBM::Sync stores structures');
}

require Mehari::State::Structures;
tie my %any, 'Mehari::State::Structures', "$folder/any";
my %values = (text => "\x{263a}", bytes => "\xff\0", list => [1, undef], none => undef, number => 1.5);
$any{$_} = $values{$_} for keys %values;
is_deeply({%any}, \%values, 'values of any kind are read unchanged');

done_testing;
