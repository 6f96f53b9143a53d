package DebianRoot;
# Makes a root: a minimal Debian of any release in a temporary directory. Commands run in the root
# with namespaces of their own. tests/fresh, .ci/run and tests/perls use this module. It writes only
# to the temporary directory and leaves nothing behind.
#
# Packages come from the apt sources of this machine. `download` fetches packages with the machine's
# network. The installation and the commands see only the loopback interface. Commands run as root
# of the namespaces. The caller is root, or has a range of user ids (/etc/subuid).
#
# A root may be of another processor, or have packages of another processor: Emulation.pm runs its
# programs then.
use strict;
use warnings;
use Cwd qw(abs_path);
use Digest::MD5 qw(md5_hex);
use File::Basename qw(dirname);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use POSIX ();
use Socket qw(AF_INET SOCK_DGRAM);

my $CHECKOUT = abs_path(dirname(__FILE__) . '/../..');
require "$CHECKOUT/tests/lib/Emulation.pm";
my $HOME     = '/root';
my $PLACE    = '/srv';    # where users that a server becomes may go, which is not so in root's home
my $PATH     = '/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
my $UNSTABLE = qr/^(?:sid|unstable)$/;
my @USER     = $> == 0 ? () : qw(--user --map-root-user --map-auto);
my @OWN      = qw(--mount --pid --ipc --uts --fork --kill-child);
my @DEVICES  = grep { -e "/dev/$_" } qw(null zero full random urandom tty fuse);

# Returns the reason why this machine cannot make a root, or '' if it can. `$machine` is Debian's
# name of the root's processor, if that is another one.
sub obstacle {
    my ($machine) = @_;
    my $said = qx(unshare @USER @OWN --net mount -t tmpfs none /mnt 2>&1);
    return $said =~ s/\s+\z//r || 'unshare fails' if $?;
    return 'mmdebstrap is not installed' unless grep { -x "$_/mmdebstrap" } split /:/, $ENV{PATH};
    return defined $machine && $machine ne native() ? Emulation::obstacle($machine) : '';
}

# The directory of all written files. `remove` deletes it. `remove` also runs at the end of the
# process and on a signal. The directory is not in /tmp, because /tmp may be in memory and a build
# takes gigabytes.
my $folder;
my $maker = $$;
sub folder {
    return $folder //= tempdir('mehari-root-XXXXXX', DIR => $ENV{TMPDIR} // '/var/tmp');
}

# The directory in which archives of roots are kept between runs. undef: each run makes its roots
# anew.
my $kept;
sub keep {
    ($kept) = @_;
    make_path($kept);
}

# The number of the process that runs in the root, or undef.
my $running;
sub remove {
    return if $$ != $maker;
    if ($running) { kill KILL => $running; waitpid $running, 0; undef $running }
    return unless defined $folder;
    my $removed = $folder;
    undef $folder;
    system { 'unshare' } 'unshare', @USER, '--mount', 'rm', '-rf', $removed;
}
$SIG{$_} = sub { remove(); exit 130 } for qw(INT TERM HUP PIPE);
END { my $status = $?; remove(); $? = $status }

# Debian's name of this machine's processor.
sub native {
    chomp(my $machine = qx(dpkg --print-architecture));
    return $machine;
}

# Makes a root of the release SUITE with apt, the essential packages and the named packages. Names
# such as `libc6:arm64` are of another processor, whose programs the root then runs too. Dies if
# this fails.
sub new {
    my ($class, $suite, @packages) = @_;
    my ($foreign) = map { /:(\w+)\z/ } @packages;
    return $class->make($suite, [native(), $foreign // ()], @packages);
}

# Makes such a root whose packages are all of one processor, this machine's or another one.
sub of_machine {
    my ($class, $machine, $suite, @packages) = @_;
    return $class->make($suite, [$machine], @packages);
}

sub make {
    my ($class, $suite, $machines, @packages) = @_;
    my ($foreign) = grep { $_ ne native() } @$machines;
    my $self = bless {suite => $suite, path => folder() . "/$suite", rust => '', work => '/', machines => $machines, foreign => $foreign}, $class;
    my @words   = (sort(@packages), "@$machines" eq native() ? () : @$machines);
    my $archive = $kept ? "$kept/$suite-" . md5_hex("@words") . '.tar' : "$self->{path}.tar";
    $self->archive($archive, @packages) unless -e $archive;
    mkdir $self->{path};
    $self->restore($archive);
    unlink $archive unless $kept;
    $self->in_place('printf "127.0.0.1 localhost\n::1 localhost\n" >etc/hosts; mkdir -p opt/rust');
    return $self;
}

# Makes a root of an archive that is there already, such as the layer of an image. `$unpacker` is
# the program that the archive is compressed with.
sub of {
    my ($class, $name, $unpacker, $archive) = @_;
    my $self = bless {suite => $name, path => folder() . "/$name", rust => '', work => '/'}, $class;
    mkdir $self->{path};
    $self->restore($archive, "--use-compress-program=$unpacker");
    return $self;
}

sub archive {
    my ($self, $archive, @packages) = @_;
    my @mirrors = map { "deb $_" } sources($self->{suite});
    my $mode    = $> == 0 || $self->{foreign} ? 'root' : 'unshare';
    my @apt     = qx(apt-config dump) =~ /^(Acquire::https?::.*\S)$/mg;
    push @apt, 'Acquire::Check-Valid-Until "false";' if $self->{suite} =~ $UNSTABLE; # a mirror may be old
    my @include = @packages ? '--include=' . join ',', @packages : ();
    my @machines = $self->{foreign} ? ('--skip=check/qemu', '--architectures=' . join ',', @{$self->{machines}}) : ();
    my @words    = $self->emulated('mmdebstrap', '--variant=minbase', "--mode=$mode", @machines, (map { "--aptopt=$_" } @apt), @include, $self->{suite}, "$archive.new.tar");
    # A mirror may have lost the security updates of a release that is no longer supported. The
    # release itself is enough.
    unlink "$archive.new.tar";
    if (!$self->succeeds(@words, @mirrors)) {
        unlink "$archive.new.tar";
        $self->quietly(@words, grep { / \Q$self->{suite}\E main\z/ } @mirrors);
    }
    rename "$archive.new.tar", $archive or die "tests: $archive: $!\n";
}

# Returns the words of a command that runs @_ with the programs of the root's processors.
sub emulated {
    my ($self, @words) = @_;
    return $self->{foreign} ? Emulation::command($self->{foreign}, @words) : @words;
}

# `save` saves a folder of the root as an archive. `restore` unpacks the archive in this or another
# root. The archive belongs to the user of this process.
sub save {
    my ($self, $archive, $inner) = @_;
    $self->in_place("tar -cf - '$inner' >'$archive.new'");
    rename "$archive.new", $archive or die "tests: $archive: $!\n";
}

sub restore {
    my ($self, $archive, @options) = @_;
    $self->quietly('unshare', @USER, '--mount', 'tar', '-C', $self->{path}, '--exclude=./dev/*', @options, '-xpf', $archive);
}

# Returns the lines for Debian in this machine's apt sources, changed to SUITE. Without such lines
# mmdebstrap uses its default mirror.
sub sources {
    my ($suite) = @_;
    my ($own)   = qx(cat /etc/os-release) =~ /^VERSION_CODENAME=(\w+)$/m or return;
    my @targets = qx(apt-get indextargets --format '\$(ORIGIN) \$(REPO_URI) \$(CODENAME) \$(COMPONENT)' 'Created-By: Packages');
    my %lines;
    for (@targets) {
        my ($origin, $place, $release, $component) = split ' ';
        next unless $origin eq 'Debian' && $component eq 'main' && $release =~ s/^\Q$own\E(?=-security$|-updates$|$)/$suite/;
        $lines{"$place $release $component"} = 1 unless $suite =~ $UNSTABLE && $release ne $suite;
    }
    return sort keys %lines;
}

# Copies the last commit of the checkout as `git clone` does, and the crates for the build.
sub bring_sources {
    my ($self, $clone) = @_;
    $self->quietly(qw(cargo fetch --locked --manifest-path), "$CHECKOUT/Cargo.toml");
    my $registry = ($ENV{CARGO_HOME} // "$ENV{HOME}/.cargo") . '/registry';
    $self->in_place("mkdir -p .$HOME/.cargo/registry; cp -a '$registry/cache' '$registry/index' .$HOME/.cargo/registry"
        . "; git clone --quiet --no-local '$CHECKOUT' '.$PLACE/$clone'");
    $self->{work} = "$PLACE/$clone";
}

# Does this, shows this machine's Rust to the root, and copies axe-core if npm can fetch it here: a
# root has no npm and no network. Rust itself is mounted and not copied.
sub bring {
    my ($self, $clone) = @_;
    my $sysroot = qx(rustc --print sysroot);
    chomp $sysroot;
    die "tests: Rust of a package cannot be shown to another release; rustup's can (https://rustup.rs)\n" if $sysroot eq '/usr' || !-x "$sysroot/bin/cargo";
    $self->{rust} = $sysroot;
    $self->bring_sources($clone);
    $self->quietly("$CHECKOUT/packaging/install-axe", "$CHECKOUT/target");
    $self->in_place("if [ -d '$CHECKOUT/target/axe' ]; then mkdir '.$PLACE/$clone/target'; cp -a '$CHECKOUT/target/axe' '.$PLACE/$clone/target'; fi");
}

# Downloads the packages of these lists in packaging/needs, but does not install them.
sub download {
    my ($self, @lists) = @_;
    my $status = $self->enter(0, "packaging/install-needs --download-only @lists", {}, sub { });
    die "tests: the packages of @lists cannot be fetched for $self->{suite}\n" if $status;
}

# Runs a line of sh in the clone, without a network. Returns the exit status. `$line` is called with
# each line of the output.
sub run {
    my ($self, $command, $env, $line) = @_;
    return $self->enter(1, $command, $env, $line // sub { print $_[0] });
}

# Does the same with this machine's network.
sub run_online {
    my ($self, $command) = @_;
    my $said = '';
    my $status = $self->enter(0, "$command 2>&1", {}, sub { $said .= $_[0] });
    return unless $status;
    print STDERR $said;
    die "tests: `$command` failed in the root of $self->{suite}\n";
}

sub enter {
    my ($self, $alone, $command, $env, $line) = @_;
    my @user  = $self->{foreign} ? () : @USER;
    my @words = $self->emulated('unshare', @user, @OWN, $alone ? '--net' : (), $^X, __FILE__, $alone, $self->{foreign} ? 1 : 0, @$self{qw(path rust work)}, $command);
    $running = open(my $output, '-|') // die "tests: fork: $!\n";
    if (!$running) {
        open STDIN, '<', '/dev/null';
        exec @words, map { "$_=$env->{$_}" } sort keys %{$env // {}} or POSIX::_exit(127);
    }
    while (my $text = <$output>) { $line->($text) }
    close $output;
    undef $running;
    return $? >> 8 || $?;
}

# Deletes the root and makes its directory free for the next root.
sub discard {
    my ($self) = @_;
    system 'unshare', @USER, '--mount', 'rm', '-rf', $self->{path};
}

# Runs a line of sh in the root's directory, but not in the root.
sub in_place {
    my ($self, $script) = @_;
    $self->quietly('unshare', @USER, '--mount', 'sh', '-ec', "cd '$self->{path}'; $script");
}

# Runs a command and prints its output only if it fails.
sub quietly {
    my ($self, @words) = @_;
    return if $self->succeeds(@words);
    print STDERR qx(cat '@{[folder()]}/log');
    die "tests: `$words[0]` failed for $self->{suite}\n";
}

# Runs a command and keeps its output in a file. Returns whether the command succeeds.
sub succeeds {
    my ($self, @words) = @_;
    my $log = folder() . '/log';
    my $pid = fork // die "tests: fork: $!\n";
    if (!$pid) {
        open STDOUT, '>', $log;
        open STDERR, '>&', \*STDOUT;
        exec { $words[0] } @words or exit 127;
    }
    waitpid $pid, 0;
    return $? == 0;
}

# The code below runs inside the namespaces: unshare(1) starts this file as a program.
main(@ARGV) unless caller;

sub main {
    my ($alone, $is_emulated, $root, $rust, $work, $command, @env) = @_;
    raise_loopback() if $alone;
    mount('--bind', $root, $root);
    mount_kernel($root, $alone);
    Emulation::keep($root) if $is_emulated;
    if ($rust ne '') {
        mount('--bind', $rust, "$root/opt/rust");
        mount('-o', 'remount,bind,ro', "$root/opt/rust");
    }
    # Some tests create namespaces, which a process under chroot(2) may not do.
    chdir $root or die "tests: $root: $!\n";
    system('pivot_root', '.', 'mnt') == 0 && system('/bin/umount', '-l', '/mnt') == 0 or die "tests: pivot_root $root failed\n";
    my $child = fork // die "tests: fork: $!\n";
    if (!$child) {
        chdir $work or die "tests: $work: $!\n";
        %ENV = (PATH => $PATH, HOME => $HOME, TERM => $ENV{TERM} // 'dumb', CARGO_NET_OFFLINE => 'true', map { split /=/, $_, 2 } @env);
        exec '/bin/sh', '-c', $command or die "tests: /bin/sh: $!\n";
    }
    # This process is the first process of its namespace, so it becomes the parent of all orphans.
    my $status;
    while ((my $ended = wait) != $child) { last if $ended == -1 }
    $status = $?;
    exit($status >> 8 || ($status ? 1 : 0));
}

sub mount_kernel {
    my ($root, $alone) = @_;
    mount('-t', 'proc', 'proc', "$root/proc");
    $alone ? mount('-t', 'sysfs', 'sysfs', "$root/sys") : mount('--rbind', '/sys', "$root/sys");
    mount('-t', 'tmpfs', '-o', 'mode=755', 'dev', "$root/dev");
    for my $name (@DEVICES) {
        open my $place, '>', "$root/dev/$name" or die "tests: $root/dev/$name: $!\n";
        mount('--bind', "/dev/$name", "$root/dev/$name");
    }
    mkdir "$root/dev/$_" for qw(pts shm);
    mount('-t', 'devpts', '-o', 'newinstance,ptmxmode=666,mode=620', 'devpts', "$root/dev/pts");
    mount('-t', 'tmpfs', '-o', 'mode=1777', 'shm', "$root/dev/shm");
    my %links = (ptmx => 'pts/ptmx', fd => '/proc/self/fd', stdin => 'fd/0', stdout => 'fd/1', stderr => 'fd/2');
    symlink $links{$_}, "$root/dev/$_" for keys %links;
    system 'cp', '/etc/resolv.conf', "$root/etc/resolv.conf" unless $alone;
}

sub mount {
    system('mount', @_) == 0 or die "tests: mount @_ failed\n";
}

# Starts the loopback interface with SIOCGIFFLAGS and SIOCSIFFLAGS of ioctl(2), see netdevice(7).
sub raise_loopback {
    socket my $socket, AF_INET, SOCK_DGRAM, 0 or die "tests: socket: $!\n";
    my $request = pack 'a16 s x22', 'lo', 0;
    ioctl $socket, 0x8913, $request or die "tests: lo: $!\n";
    substr $request, 16, 2, pack 's', unpack('x16 s', $request) | 1;
    ioctl $socket, 0x8914, $request or die "tests: lo: $!\n";
}

1;
