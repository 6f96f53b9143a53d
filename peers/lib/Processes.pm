# Reads the kernel's figures for a server's processes from /proc: the process tree, the CPU time,
# the private memory. A process that ends between two readings is no longer counted.
package Processes;
use strict;
use warnings;
use List::Util qw(sum0);
use POSIX ();

my $TICKS_A_SECOND = POSIX::sysconf(POSIX::_SC_CLK_TCK());

# Returns the process and all its descendants, parents first.
sub tree {
    my ($root) = @_;
    my %children;
    for my $file (glob '/proc/[0-9]*/stat') {
        my ($pid) = $file =~ /(\d+)/;
        my @field = stat_fields($pid) or next;
        push @{$children{$field[1]}}, $pid;
    }
    my @tree = ($root);
    for (my $next = 0; $next < @tree; $next++) {
        push @tree, @{$children{$tree[$next]} || []};
    }
    return @tree;
}

# Returns the seconds of user and system time, including those of children for which a process has
# waited. A program that runs for one request counts in this way.
sub cpu_seconds {
    my @pids = @_;
    return sum0(map { my @field = stat_fields($_); @field ? sum0(@field[11 .. 14]) : 0 } @pids) / $TICKS_A_SECOND;
}

# Returns the seconds of user and system time of the programs that this process has run and waited
# for.
sub waited_for { my (undef, undef, @children) = times; return sum0(@children) }

# Returns the name of the process's program, or '' if the process has ended.
sub name {
    my ($pid) = @_;
    open my $file, '<', "/proc/$pid/comm" or return '';
    chomp(my $name = <$file> // '');
    return $name;
}

# Returns the KiB of memory that the process has written and does not share (Private_Dirty), or
# undef if the process has ended or may not be read.
sub private_kib {
    my ($pid) = @_;
    open my $rollup, '<', "/proc/$pid/smaps_rollup" or return undef;
    while (my $line = <$rollup>) {
        return $1 if $line =~ /^Private_Dirty:\s+(\d+) kB/;
    }
    return undef;
}

# Returns the fields of /proc/PID/stat from the state on, which is field 3 in proc(5). The name
# before the state may contain blanks.
sub stat_fields {
    my ($pid) = @_;
    open my $stat, '<', "/proc/$pid/stat" or return;
    my $line = <$stat> // return;
    return split ' ', $line =~ s/^.*\)\s+//sr;
}

1;
