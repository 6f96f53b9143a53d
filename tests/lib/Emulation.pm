package Emulation;
# Runs programs of another processor: the kernel starts them with qemu-user, but only in the user
# namespace of the command that this module runs. Nothing is registered for the rest of the machine.
# DebianRoot.pm uses this module for roots of arm64.
use strict;
use warnings;

# The start of the programs that the kernel gives to the emulator, from qemu's own
# scripts/qemu-binfmt-conf.sh. The names of the machines are Debian's.
my %MACHINE = (
    arm64 => {
        emulator => 'qemu-aarch64-static',
        magic    => '\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00',
        mask     => '\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff',
    },
);
my $KERNEL = '/proc/sys/fs/binfmt_misc';

# unshare(2), and its flags of sched.h. Perl has no name for them.
my ($SYS_UNSHARE, $NEW_NAMESPACES) = (272, 0x10000000 | 0x00020000);

# Returns the words of a command that runs @_ where programs of MACHINE can be started.
sub command {
    my ($machine, @words) = @_;
    return ($^X, __FILE__, $machine, @words);
}

# Returns the reason why this machine cannot run programs of MACHINE, or '' if it can.
sub obstacle {
    my ($machine) = @_;
    my $known = $MACHINE{$machine} or return "expected one of @{[sort keys %MACHINE]}, not $machine";
    return "$known->{emulator} is not installed (Debian: qemu-user-static)" unless defined emulator($known);
    open my $said, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', command($machine, 'true') or return "fork: $!";
    my $reason = join '', <$said>;
    close $said;
    return $? ? $reason =~ s/\s+\z//r || 'a user namespace cannot be made' : '';
}

sub emulator {
    my ($known) = @_;
    my ($path) = grep { -x } map { "$_/$known->{emulator}" } split /:/, $ENV{PATH};
    return $path;
}

# Keeps the emulator where the command makes ROOT its root folder: the kernel forgets the emulator
# with the last mount of this file system.
sub keep {
    my ($root) = @_;
    system('mount', '-t', 'binfmt_misc', 'none', "$root$KERNEL") == 0 or die "mount: $root$KERNEL\n";
    return;
}

# The code below runs as a program of its own.
main(@ARGV) unless caller;

# This process enters the namespace and becomes the command. Its child stays outside and says who is
# who inside, which root of the machine may.
sub main {
    my ($machine, @words) = @_;
    if ($machine eq '--inside') { emulate(@words) }
    if ($> != 0) { exec qw(unshare --user --map-root-user --map-auto --mount), $^X, __FILE__, '--inside', $machine, @words or die "unshare: $!\n" }
    pipe my $entered, my $enters or die "pipe: $!\n";
    my $process = $$;
    my $child = fork // die "fork: $!\n";
    if (!$child) {
        close $enters;
        <$entered>;
        exit(map_users($process) ? 0 : 1);
    }
    my $is_inside = syscall($SYS_UNSHARE, $NEW_NAMESPACES) == 0;
    my $reason = $!;
    close $enters;
    waitpid $child, 0;
    $is_inside && $? == 0 or die "a user namespace cannot be made: $reason\n";
    emulate($machine, @words);
}

# Root of the machine is root of the namespace, and every user is the same one in it.
sub map_users {
    my ($process) = @_;
    for my $map (qw(uid_map gid_map)) {
        open my $out, '>', "/proc/$process/$map" or return 0;
        syswrite $out, "0 0 4294967295\n" or return 0;
    }
    return 1;
}

# Registers the emulator in the namespaces of this process, and becomes the command. The flag F has
# the kernel open the emulator now, so a root need not contain it.
sub emulate {
    my ($machine, @words) = @_;
    my $known = $MACHINE{$machine};
    system('mount', '--make-rprivate', '/') == 0 or die "mount: / cannot be made private\n";
    system("mount -t binfmt_misc none $KERNEL 2>/dev/null") == 0 or die "the kernel has no binfmt_misc for a user namespace (Linux 6.7 has)\n";
    open my $register, '>', "$KERNEL/register" or die "$KERNEL/register: $!\n";
    my $rule = join ':', '', $known->{emulator}, 'M', '', $known->{magic}, $known->{mask}, emulator($known), 'OCF';
    defined syswrite $register, $rule or die "$KERNEL/register: $!\n";
    close $register;
    exec { $words[0] } @words or die "$words[0]: $!\n";
}

1;
