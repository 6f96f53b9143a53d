# Tests GTop against what ps, free and df print, and on another process of known content.

use strict;
use warnings;
use POSIX ();
use Test::More;
use GTop ();

my $gtop = GTop->new;

# A child that waits: its figures rest.
sub child {
    pipe my $ready, my $tell or die $!;
    my $pid = fork // die $!;
    if (!$pid) {
        # Of a constant expression, perl 5.42 makes the text in the parent and shares it.
        my $block = 'x' x (20_000_000 + ($$ & 1));
        syswrite $tell, '.';
        sleep 60;
        POSIX::_exit(0);
    }
    sysread $ready, my $byte, 1;
    return $pid;
}

sub output_of { my @lines = qx(LC_ALL=C $_[0]); chomp @lines; return @lines }

my $pid = child();
END { kill 'KILL', $pid if $pid }

my ($vsize, $rss, $uid, $parent, $state, $command) = split ' ', join ' ', output_of("ps -o vsz=,rss=,uid=,ppid=,state=,comm= -p $pid");
my $mem = $gtop->proc_mem($pid);
is $mem->size, $vsize * 1024, 'the size is that of ps';
is $mem->vsize, $mem->size, 'vsize is another name';
is $mem->resident, $rss * 1024, 'the resident size is that of ps';
is $mem->rss, $mem->resident, 'rss is another name';
cmp_ok $mem->rss - $mem->share, '>=', 20_000_000, 'what the process wrote is not shared';
cmp_ok $mem->share, '>', 0, 'the pages of its files are';

is $gtop->proc_uid($pid)->uid, $uid, 'owner';
is $gtop->proc_uid($pid)->ppid, $parent, 'parent';
is $gtop->proc_uid($pid)->pid, $pid, 'the process itself';
is $gtop->proc_state($pid)->state, $state, 'state';
is $gtop->proc_state($pid)->cmd, $command, 'name of the program';
cmp_ok abs(time - $gtop->proc_time($pid)->start_time), '<=', 60, 'start';
is $gtop->proc_time($pid)->frequency, POSIX::sysconf(POSIX::_SC_CLK_TCK()), 'ticks in a second';
my (undef, $words) = $gtop->proc_args($$);
like $words->[0], qr/perl/, 'command line';
cmp_ok $gtop->proc_segment($pid)->dirty_size, '>=', 20_000_000, 'what the process wrote is dirty';

my ($map, $entries) = $gtop->proc_map($pid);
my @heap = grep { ($entries->filename($_) // '') eq '[heap]' } 0 .. $map->number - 1;
# A perl with a sanitizer takes its memory from elsewhere.
my $own_heap = ($ENV{MEHARI_PERL_FLAGS} // '') =~ /-fsanitize=/ ? 0 : 1;
is @heap, $own_heap, 'one heap';
is $entries->perm_string($heap[0]), 'rw-p', 'its permissions';
is $entries->perm($heap[0]), 1 | 2 | 16, 'the same as bits';
cmp_ok $entries->end($heap[0]), '>', $entries->start($heap[0]), 'its range';
is $entries->filename($map->number), undef, 'no entry after the last';
is $entries->filename(-1), undef, 'no entry before the first';

my ($list, $pids) = $gtop->proclist;
is $list->number, @$pids, 'number of processes';
ok scalar(grep({ $_ == $pid } @$pids)), 'the child is one of them';

my ($total) = map { /^Mem:\s+(\d+)/ ? $1 : () } output_of('free -b');
is $gtop->mem->total, $total, 'memory of the machine';
is $gtop->mem->used + $gtop->mem->free, $total, 'its two parts';
cmp_ok $gtop->mem->share, '>=', 0, 'shared memory, by the name that the mod_perl guide uses';
is $gtop->swap->used + $gtop->swap->free, $gtop->swap->total, 'swap';
is @{$gtop->loadavg->loadavg}, 3, 'three averages';
cmp_ok $gtop->uptime->uptime, '>', 0, 'uptime';
cmp_ok $gtop->cpu->total, '>=', $gtop->cpu->idle, 'processor time';

my ($blocks) = map { /^\S+\s+(\d+)/ ? $1 : () } (output_of('df -P -B1 /'))[1];
is $gtop->fsusage('/')->blocks * $gtop->fsusage('/')->block_size, $blocks, 'size of a file system';
is $gtop->fsusage('/no/such/folder')->blocks, 0, 'a path that does not exist';
my ($mounts, $names) = $gtop->mountlist(1);
ok scalar(grep { $names->mountdir($_) eq '/proc' && $names->type($_) eq 'proc' } 0 .. $mounts->number - 1), '/proc is mounted';
my ($disks, $disk_names) = $gtop->mountlist(0);
is scalar(grep { $disk_names->type($_) eq 'proc' } 0 .. $disks->number - 1), 0, 'it stands on no device';

my ($line) = map { /^\s*lo:\s*(\d+)/ ? $1 : () } output_of('cat /proc/net/dev');
cmp_ok $gtop->netload('lo')->bytes_in, '>=', $line, 'bytes of the loopback interface only grow';
cmp_ok $gtop->netload('lo')->mtu, '>', 0, 'its largest packet';
is $gtop->netload('none')->bytes_total, 0, 'an interface that does not exist';
is $gtop->netload('../lo')->mtu, 0, 'a path is not an interface';

kill 'KILL', $pid;
waitpid $pid, 0;
is $gtop->proc_mem($pid)->size, 0, 'an ended process has no size';
is $gtop->proc_time($pid)->start_time, 0, 'and no start';
is $gtop->proc_mem('self/../1')->size, 0, 'only a number is a process';
undef $pid;

is GTop::size_string($_->[0]), $_->[1], "$_->[0] bytes"
    for [-1, '    -'], [0, '   0k'], [1, '   1k'], [17_000, '  17k'], [1_500_000, ' 1.4M'], [200_000_000, ' 191M'];

done_testing;
