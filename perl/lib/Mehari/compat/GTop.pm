package GTop;

# The figures of a machine and of its processes: the interface of GTop, read from /proc without the
# library libgtop. Each class of GTop is a blessed hash whose keys are the names of its methods.

use strict;
use warnings;
use Config ();
use POSIX  ();

our $VERSION = '0.18';

my $PAGE  = POSIX::sysconf(POSIX::_SC_PAGESIZE());
my $TICKS = POSIX::sysconf(POSIX::_SC_CLK_TCK());


# The number of the system call statfs, which perl has no function for.
my %STATFS = (x86_64 => 137, aarch64 => 43);

# The methods of each class. `flags` is a bit mask of the known figures: here, of all of them.
my %METHODS = (
    Cpu     => [qw(total user nice sys idle frequency)],
    Fsusage => [qw(blocks bfree bavail files ffree block_size)],
    Loadavg => [qw(loadavg nr_running nr_tasks last_pid)],
    Mem     => [qw(total used free shared share buffer cached user locked)],
    Netload => [
        qw(if_flags mtu subnet address packets_in packets_out packets_total bytes_in bytes_out bytes_total
            errors_in errors_out errors_total collisions)
    ],
    Mountlist   => [qw(number total size)],
    ProcArgs    => [qw(size)],
    ProcMap     => [qw(number total size)],
    ProcMem     => [qw(size vsize resident share rss rss_rlim)],
    ProcSegment => [qw(text_rss shlib_rss data_rss stack_rss dirty_size start_code end_code start_stack)],
    ProcState   => [qw(cmd state uid gid)],
    ProcTime    => [qw(start_time rtime utime stime cutime cstime timeout it_real_value frequency)],
    ProcUid     => [qw(uid euid gid egid pid ppid pgrp session tty tpgid priority nice)],
    Proclist    => [qw(number total size)],
    Swap        => [qw(total used free pagein pageout)],
    Uptime      => [qw(uptime idletime)],
);

# The methods of a list's entries. Each takes the number of the entry, from 0 on.
my %ENTRY_METHODS = (
    MapEntry   => [qw(flags start end offset perm inode device filename perm_string)],
    Mountentry => [qw(dev type devname mountdir)],
);

for my $class (keys %METHODS) {
    my @methods = @{$METHODS{$class}};
    my $flags   = (1 << @methods) - 1;
    no strict 'refs';
    *{"GTop::${class}::flags"} = sub { return $flags };
    for my $method (@methods) {
        *{"GTop::${class}::$method"} = sub { return $_[0]{$method} };
    }
}
for my $class (keys %ENTRY_METHODS) {
    no strict 'refs';
    for my $method (@{$ENTRY_METHODS{$class}}) {
        *{"GTop::${class}::$method"} = sub {
            my ($entries, $number) = @_;
            my $entry = $number < 0 ? undef : $entries->[$number];
            return $entry && $entry->{$method};
        };
    }
}

sub new { return bless {}, shift }

# A size in bytes as five characters: "  17k", " 1.5M".
sub size_string {
    my ($size) = @_;
    return '    -' if $size < 0;
    return '   0k' if $size == 0;
    return '   1k' if $size < 1024;
    return sprintf '%4dk', ($size + 512) / 1024 if $size < 1_048_576;
    return sprintf '%4.1fM', $size / 1_048_576 if $size < 103_809_024;
    return sprintf '%4dM', ($size + 524_288) / 1_048_576;
}

sub cpu {
    my ($user, $nice, $sys, $idle, @rest) = (split ' ', content('/proc/stat'))[1 .. 8];
    my $total = 0;
    $total += $_ for $user, $nice, $sys, $idle, @rest;
    return figures('Cpu', total => $total, user => $user, nice => $nice, sys => $sys, idle => $idle, frequency => $TICKS);
}

sub mem {
    my %bytes = meminfo();
    my $used = $bytes{MemTotal} - $bytes{MemFree};
    my $cached = $bytes{Cached} + ($bytes{SReclaimable} // 0);
    return figures(
        'Mem',
        total  => $bytes{MemTotal},
        used   => $used,
        free   => $bytes{MemFree},
        shared => $bytes{Shmem},
        share  => $bytes{Shmem},
        buffer => $bytes{Buffers},
        cached => $cached,
        user   => $used - $bytes{Buffers} - $cached,
        locked => $bytes{Mlocked} // 0,
    );
}

sub swap {
    my %bytes = meminfo();
    my %pages = content('/proc/vmstat') =~ /^(pswpin|pswpout) (\d+)$/gm;
    return figures(
        'Swap',
        total   => $bytes{SwapTotal},
        used    => $bytes{SwapTotal} - $bytes{SwapFree},
        free    => $bytes{SwapFree},
        pagein  => $pages{pswpin} // 0,
        pageout => $pages{pswpout} // 0,
    );
}

sub loadavg {
    my ($one, $five, $fifteen, $tasks, $last) = split ' ', content('/proc/loadavg');
    my ($running, $all) = split m{/}, $tasks;
    return figures('Loadavg', loadavg => [$one, $five, $fifteen], nr_running => $running, nr_tasks => $all, last_pid => $last);
}

sub uptime {
    my ($up, $idle) = split ' ', content('/proc/uptime');
    return figures('Uptime', uptime => $up, idletime => $idle);
}

# An interface that does not exist has figures of 0, as in libgtop.
sub netload {
    my ($self, $interface) = @_;
    my ($line) = content('/proc/net/dev') =~ /^\s*\Q$interface\E:(.*)$/m;
    my @counts = numbers($line // '', 0 .. 15);
    my $of = "/sys/class/net/$interface";
    my $is_name = $interface !~ m{/|^\.\.?$};
    return figures(
        'Netload',
        if_flags => $is_name ? hex(first_word("$of/flags") // 0) : 0,
        mtu      => $is_name ? first_word("$of/mtu") // 0 : 0,
        map { ("$_->[0]_in" => $_->[1], "$_->[0]_out" => $_->[2], "$_->[0]_total" => $_->[1] + $_->[2]) }
            ['bytes', @counts[0, 8]], ['packets', @counts[1, 9]], ['errors', @counts[2, 10]],
    )->with(subnet => 0, address => 0, collisions => $counts[13]);
}

# The figures of a file system by one of its paths: blocks of `block_size` bytes.
sub fsusage {
    my ($self, $path) = @_;
    my ($machine) = $Config::Config{archname} =~ /^([^-]+)/;
    my $call = $STATFS{$machine}
        or die "GTop: fsusage is known on x86_64 and aarch64, not on $machine\n";
    my $file = "$path";
    my $answer = "\0" x 256;
    my @words = syscall($call, $file, $answer) == 0 ? unpack 'q7', $answer : (0) x 7;
    my ($size, $blocks, $free, $available, $files, $free_files) = @words[1 .. 6];
    return figures(
        'Fsusage',
        blocks     => $blocks,
        bfree      => $free,
        bavail     => $available,
        files      => $files,
        ffree      => $free_files,
        block_size => $size,
    );
}

# Returns the list's figures and its entries. Without `$all` the file systems that stand on no
# device, such as /proc, are left out.
sub mountlist {
    my ($self, $all) = @_;
    my @entries;
    for my $line (split /\n/, content('/proc/self/mounts')) {
        my ($device, $folder, $type) = map { unescaped($_) } split ' ', $line;
        next unless $all || $device =~ m{^/};
        push @entries, {devname => $device, mountdir => $folder, type => $type, dev => (stat $folder)[0]};
    }
    return list_of('Mountlist', 'Mountentry', @entries);
}

# Returns the list's figures and the process ids.
sub proclist {
    opendir my $folder, '/proc' or die "GTop: cannot read /proc: $!\n";
    my @pids = sort { $a <=> $b } grep { /^\d+$/ } readdir $folder;
    return (figures('Proclist', number => scalar @pids, size => 4, total => 4 * @pids), \@pids);
}

# A process that has ended has figures of 0, as in libgtop.
sub proc_mem {
    my ($self, $pid) = @_;
    my ($size, $resident, $share) = map { $_ * $PAGE } numbers(of_process($pid, 'statm'), 0 .. 2);
    my $limit = stat_of($pid)->{rss_rlim};
    return figures(
        'ProcMem',
        size     => $size,
        vsize    => $size,
        resident => $resident,
        rss      => $resident,
        share    => $share,
        rss_rlim => $limit,
    );
}

sub proc_segment {
    my ($self, $pid) = @_;
    my $stat = stat_of($pid);
    my %kib = of_process($pid, 'status') =~ /^(Vm\w+|Rss\w+):\s+(\d+) kB$/gm;
    my ($text, $data) = map { $_ * $PAGE } numbers(of_process($pid, 'statm'), 3, 5);
    my ($dirty) = of_process($pid, 'smaps_rollup') =~ /^Private_Dirty:\s+(\d+) kB$/m;
    return figures(
        'ProcSegment',
        text_rss    => $text,
        shlib_rss   => ($kib{VmLib} // 0) * 1024,
        data_rss    => $data,
        stack_rss   => ($kib{VmStk} // 0) * 1024,
        dirty_size  => ($dirty // 0) * 1024,
        start_code  => $stat->{start_code},
        end_code    => $stat->{end_code},
        start_stack => $stat->{start_stack},
    );
}

sub proc_state {
    my ($self, $pid) = @_;
    my $stat  = stat_of($pid);
    my %owner = owner_of($pid);
    return figures('ProcState', cmd => $stat->{cmd}, state => $stat->{state}, uid => $owner{uid}, gid => $owner{gid});
}

# `start_time` is in seconds since 1970. The other times are in ticks, `frequency` in a second.
sub proc_time {
    my ($self, $pid) = @_;
    my $stat = stat_of($pid);
    my ($boot) = content('/proc/stat') =~ /^btime (\d+)$/m;
    return figures(
        'ProcTime',
        start_time => $stat->{cmd} eq '' ? 0 : int($boot + $stat->{start} / $TICKS),
        rtime      => $stat->{utime} + $stat->{stime},
        (map { ($_ => $stat->{$_}) } qw(utime stime cutime cstime it_real_value)),
        timeout   => 0,
        frequency => $TICKS,
    );
}

sub proc_uid {
    my ($self, $pid) = @_;
    my $stat  = stat_of($pid);
    my %owner = owner_of($pid);
    return figures('ProcUid', %owner, pid => $pid, map { ($_ => $stat->{$_}) } qw(ppid pgrp session tty tpgid priority nice));
}

# Returns the figures and the command line as a list of words.
sub proc_args {
    my ($self, $pid) = @_;
    my $line = of_process($pid, 'cmdline');
    return (figures('ProcArgs', size => length $line), [split /\0/, $line]);
}

sub proc_map {
    my ($self, $pid) = @_;
    my @entries;
    for my $line (split /\n/, of_process($pid, 'maps')) {
        my ($range, $perm, $offset, $device, $inode, $file) = split ' ', $line, 6;
        no warnings 'portable';
        my ($start, $end) = map { hex } split /-/, $range;
        my ($major, $minor) = map { hex } split /:/, $device;
        my $bits = 0;
        $bits |= substr($perm, $_, 1) eq '-' ? 0 : 1 << $_ for 0 .. 2;
        $bits |= substr($perm, 3, 1) eq 's' ? 8 : 16;
        push @entries, {
            start       => $start,
            end         => $end,
            offset      => hex $offset,
            perm        => $bits,
            perm_string => $perm,
            inode       => $inode,
            device      => ($major << 8) + $minor,
            filename    => $file,
            flags       => 0xff,
        };
    }
    return list_of('ProcMap', 'MapEntry', @entries);
}

sub figures {
    my ($class, %values) = @_;
    return bless \%values, "GTop::$class";
}

sub GTop::Netload::with {
    my ($self, %more) = @_;
    @$self{keys %more} = values %more;
    return $self;
}

sub list_of {
    my ($class, $of_entries, @entries) = @_;
    my $list = figures($class, number => scalar @entries, size => 1, total => scalar @entries);
    return ($list, bless \@entries, "GTop::$of_entries");
}

# The content of a file, or nothing: a process may end at any time.
sub content {
    my ($path) = @_;
    open my $file, '<', $path or return '';
    local $/;
    return scalar(<$file>) // '';
}

# The words of a line at these places; a missing word is 0.
sub numbers {
    my ($line, @places) = @_;
    my @words = split ' ', $line;
    return map { $_ // 0 } @words[@places];
}

sub first_word {
    my ($path) = @_;
    return (split ' ', content($path))[0];
}

# $pid comes from the caller, maybe from a request: only digits become a part of the path.
sub of_process {
    my ($pid, $file) = @_;
    return $pid =~ /\A[0-9]+\z/ ? content("/proc/$pid/$file") : '';
}

# The line of /proc/PID/stat. The name of a program may hold spaces and parentheses.
sub stat_of {
    my ($pid) = @_;
    my ($cmd, $rest) = of_process($pid, 'stat') =~ /\A\d+ \((.*)\) (.*)\Z/s;
    my @fields = split ' ', $rest // '';
    my %stat;
    @stat{
        qw(state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime
            priority nice threads it_real_value start vsize rss rss_rlim start_code end_code start_stack)
    } = map { $fields[$_] // 0 } 0 .. 25;
    $stat{cmd} = $cmd // '';
    return \%stat;
}

sub owner_of {
    my ($pid) = @_;
    my $status = of_process($pid, 'status');
    my ($uid, $euid) = $status =~ /^Uid:\s+(\d+)\s+(\d+)/m;
    my ($gid, $egid) = $status =~ /^Gid:\s+(\d+)\s+(\d+)/m;
    return (uid => $uid // 0, euid => $euid // 0, gid => $gid // 0, egid => $egid // 0);
}

sub meminfo {
    my %kib = content('/proc/meminfo') =~ /^(\w+):\s+(\d+) kB$/gm;
    return map { ($_ => $kib{$_} * 1024) } keys %kib;
}

# The kernel writes spaces of a path in octal.
sub unescaped {
    my ($word) = @_;
    return $word =~ s/\\([0-7]{3})/chr oct $1/ger;
}

1;

__END__

=head1 NAME

GTop - the figures of a machine and of its processes

=head1 SYNOPSIS

    use GTop ();
    my $gtop = GTop->new;
    print $gtop->proc_mem($$)->size;
    print GTop::size_string($gtop->mem->free);

    my ($list, $mounts) = $gtop->mountlist(0);
    print $mounts->mountdir($_), "\n" for 0 .. $list->number - 1;

=head1 DESCRIPTION

This module has the interface of the module GTop. It reads /proc itself and does not need the
library libgtop. Sizes are in bytes.

The figures of a process that has ended are 0. C<share> of a worker (a process that runs Perl code)
counts each memory page that is mapped from a file. It does not count the pages that the worker
shares since the fork with the zygote, the process that forks the workers. C<mehari memory> and
C<mehari status> say how much memory of a worker is really shared.

=head1 METHODS

=over 4

=item new

Returns an object for the methods below.

=item cpu

Returns an object with the methods total, user, nice, sys, idle and frequency. The numbers are ticks
since the start of the machine.

=item mem, swap

Both objects have the methods total, used and free. The object of C<mem> also has shared (under the
name share too), buffer, cached, user and locked. The object of C<swap> also has pagein and pageout,
in pages.

=item loadavg, uptime

The object of C<loadavg> has the methods loadavg (a reference to the averages of 1, 5 and 15
minutes), nr_running, nr_tasks and last_pid. The object of C<uptime> has uptime and idletime, in
seconds.

=item netload($interface), fsusage($path)

The object of C<netload> has the methods if_flags and mtu. It also has packets, bytes and errors,
each with the endings _in, _out and _total. Its methods subnet and address return 0. The object of
C<fsusage> has blocks, bfree, bavail, files, ffree and block_size.

=item proc_mem($pid)

Returns an object with the methods size, vsize, resident, rss, share and rss_rlim.

=item proc_segment($pid), proc_state($pid), proc_time($pid), proc_uid($pid)

Return an object, as in the module GTop with libgtop.

=item proclist, mountlist($all), proc_args($pid), proc_map($pid)

Each returns two values: an object with the number of entries, and the entries. The entries of
C<proclist> and C<proc_args> are a reference to an array. The entries of C<mountlist> have the
methods devname, mountdir, type and dev. The entries of C<proc_map> have the methods start, end,
offset, perm, perm_string, inode, device and filename. Each of these methods takes the number of an
entry.

=back

=head1 FUNCTIONS

=over 4

=item size_string($bytes)

Returns a size in five characters. For example, C<GTop::size_string(1_572_864)> is C<" 1.5M">.

=back

=cut
