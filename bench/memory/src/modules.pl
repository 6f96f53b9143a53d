# Loads one module in a forked process for each kind of figure, and prints the figures. The program
# loads no module itself, so that nothing is loaded before it is measured.
#
# Arguments: the number of the system call clock_gettime, the number of further packages that import
# (0: all other figures), the module's name, the list of its import (`()`: no import, empty: the
# module's own list), the files of modules that are there before.
my ($clock, $packages, $module, $list, @given) = @ARGV;
my $can_import = $list ne '()';

# What the module prints is not a figure.
open my $figures, '>&', \*STDOUT or die $!;
open STDOUT, '>', '/dev/null' or die $!;
select((select($figures), $| = 1)[0]);

# The kernel's counts of this process's pages, in bytes: all that belong to no file, and of these
# the ones that no other process has.
sub pages {
    open my $rollup, '<', '/proc/self/smaps_rollup' or die "/proc/self/smaps_rollup: $!\n";
    my $text = join '', <$rollup>;
    my ($anonymous) = $text =~ /^Anonymous:\s*(\d+)/m;
    my ($private) = $text =~ /^Private_Dirty:\s*(\d+)/m;
    return ($anonymous * 1024, $private * 1024);
}

# Microseconds of processor time of this process (CLOCK_PROCESS_CPUTIME_ID).
sub now {
    my $time = "\0" x 16;
    syscall($clock, 2, $time) == 0 or die "clock_gettime: $!\n";
    my ($seconds, $nanoseconds) = unpack 'l!l!', $time;
    return $seconds * 1e6 + $nanoseconds / 1e3;
}

# The text of a script that uses the module, as a package of its own.
sub script {
    my ($package) = @_;
    return $can_import && $module ne '' ? "package $package; BEGIN { $module->import($list) } 1" : "package $package; 1";
}

sub load {
    return if $module eq '';
    eval "require $module; 1" or tell_failure();
}

sub tell_failure {
    my ($first) = split /\n/, $@;
    print $figures "failure\t$first\n";
    exit 1;
}

sub names {
    my ($package) = @_;
    no strict 'refs';
    return scalar keys %{"${package}::"};
}

# Runs the sub in a forked process and waits for its end.
sub forked {
    my ($sub) = @_;
    my $child = fork;
    die "fork: $!\n" if !defined $child;
    if (!$child) {
        $sub->();
        exit 0;
    }
    waitpid $child, 0;
    exit 1 if $?;
}

sub measure {
    now();
    pages();
    my $empty = names('Mehari::Memory::Empty');
    my %there = %INC;
    my ($before) = pages();
    my $begun = now();
    load();
    my $loaded = now();
    my ($with_module) = pages();
    my $importing = now();
    eval script('Mehari::Memory::First') or tell_failure();
    my $imported = now();
    my ($with_names) = pages();
    my $names = names('Mehari::Memory::First') - $empty;
    $names-- if $names && exists $Mehari::Memory::First::{BEGIN};
    print $figures join("\t", 'load', $with_module - $before, $loaded - $begun, $with_names - $with_module,
        $imported - $importing, $names), "\n";
    print $figures "brought\t$_\n" for grep { !exists $there{$_} } sort keys %INC;
    forked(\&unshare);
}

# What a worker makes its own when it compiles a script that uses the module.
sub unshare {
    my (undef, $before) = pages();
    eval script('Mehari::Memory::Second') or tell_failure();
    my (undef, $after) = pages();
    print $figures "unshared\t", $after - $before, "\n";
}

# What each further package takes that uses the module. Whatever the module makes at its first
# import is there already. Many packages share the error of whole pages.
sub import_again {
    now();
    pages();
    my $empty = names('Mehari::Memory::Empty');
    load();
    eval script('Mehari::Memory::First') or tell_failure();
    my ($before) = pages();
    my $begun = now();
    for my $number (1 .. $packages) {
        eval script("Mehari::Memory::Again$number") or tell_failure();
    }
    my $ended = now();
    my ($after) = pages();
    my $names = names('Mehari::Memory::Again1') - $empty;
    $names-- if $names && exists $Mehari::Memory::Again1::{BEGIN};
    print $figures join("\t", 'again', ($after - $before) / $packages, ($ended - $begun) / $packages, $names), "\n";
}

# Counts the subs, and the ops of their code, that the module and what it loads have brought.
sub count {
    load();
    eval script('Mehari::Memory::First') or tell_failure();
    my %own = map { $_ => 1 } grep { defined } values %INC;
    require B;
    my $counted = { ops => 0, subs => 0, xs => 0, seen => {}, own => \%own };
    count_package('main::', $counted);
    print $figures join("\t", 'count', @$counted{qw(ops subs xs)}), "\n";
}

sub count_package {
    my ($package, $counted) = @_;
    return if $counted->{seen}{$package}++ || $package =~ /^(?:main::)?(?:B|Mehari::Memory::\w+)::$/;
    no strict 'refs';
    for my $name (keys %$package) {
        if ($name =~ /::\z/) {
            count_package($package eq 'main::' ? $name : "$package$name", $counted) if $name ne 'main::';
            next;
        }
        my $glob = \$package->{$name};
        my $code = ref $glob eq 'GLOB' ? *$glob{CODE} : ref $glob eq 'REF' && ref $$glob eq 'CODE' ? $$glob : undef;
        count_code(B::svref_2object($code), $counted) if $code;
    }
}

sub count_code {
    my ($code, $counted) = @_;
    return if $counted->{seen}{$$code}++;
    if ($code->XSUB) {
        # The file of a sub in C is its C file, which %INC does not name.
        $counted->{xs}++ if ($code->FILE || '') =~ /\.(?:c|xs)\z/ && $code->GV->STASH->NAME !~ /^(?:B|UNIVERSAL|utf8|version|Internals|re|PerlIO|mro)\b/;
        return;
    }
    my $root = $code->ROOT;
    return if !$$root || !$counted->{own}{ $code->FILE || '' };
    $counted->{subs}++;
    $counted->{ops} += ops($root);
    my $pads = $code->PADLIST;
    my $pad = $pads->MAX > 0 ? $pads->ARRAYelt(1) : undef;
    return if !$pad || !$pad->can('ARRAY');
    for my $inner ($pad->ARRAY) {
        count_code($inner, $counted) if ref $inner eq 'B::CV' && $$inner;
    }
}

sub ops {
    my ($op) = @_;
    my $count = 1;
    return $count if !($op->flags & B::OPf_KIDS());
    for (my $kid = $op->first; $$kid; $kid = $kid->sibling) {
        $count += ops($kid);
    }
    return $count;
}

# A module of the server itself cannot be loaded elsewhere.
eval { require $_ } for @given;
if ($packages) {
    forked(\&import_again);
} else {
    forked(\&measure);
    forked(\&count);
}
