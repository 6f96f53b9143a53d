# Compiles a Perl file, and measures its subs in forked processes, one for each sub. The processes
# take turns: the caller says on standard input which sub is called how often.
#
# Arguments: the numbers of the system calls clock_gettime and prctl, and the file. With two
# more arguments, NAME and COUNT, the sub NAME is called COUNT times and nothing is measured.
#
# Commands: `NAME COUNT` calls a sub, `NAME =` asks what a sub returns and prints.
#
# Answers, one line each, with tabs between the words:
#   subs NAME ...                the file's candidates, in the order of the file
#   failed MESSAGE               the file cannot be compiled or run
#   took CPU_NS WALL_NS          the calls are made
#   gave TEXT                    what the sub has returned and printed
#   died MESSAGE                 the sub died
#   ended exit|signal NUMBER     the sub's process ended
package Mehari::Time;
my ($clock, $prctl, $file) = splice @ARGV, 0, 3;
my @counted = splice @ARGV;

# A driver whose caller ends, and a sub's process whose driver ends, end too (PR_SET_PDEATHSIG).
sub end_with_parent { syscall($prctl + 0, 1, 9) }
end_with_parent();

open my $commands, '<&', \*STDIN or die "standard input: $!\n";
open my $answers, '>&', \*STDOUT or die "standard output: $!\n";
select((select($answers), $| = 1)[0]);
open STDIN, '<', '/dev/null' or die "/dev/null: $!\n";
open STDOUT, '>', '/dev/null' or die "/dev/null: $!\n";

sub answer {
    my ($to, @words) = @_;
    s/\s+/ /g, s/ \z// for @words;
    syswrite $to, join("\t", @words) . "\n";
}

# The first line of what perl says, without the driver's own place.
sub first_line {
    my ($first) = split /\n/, $_[0];
    return $first;
}

# Nanoseconds of a clock: 1 is CLOCK_MONOTONIC, 2 is CLOCK_PROCESS_CPUTIME_ID.
sub now {
    my ($which) = @_;
    my $time = "\0" x 16;
    syscall($clock + 0, $which, $time) == 0 or die "clock_gettime: $!\n";
    my ($seconds, $nanoseconds) = unpack 'l!l!', $time;
    return $seconds * 1e9 + $nanoseconds;
}

# The subs of the file in the package main whose names do not begin with `_`.
sub named_subs {
    require B;
    my %line;
    for my $name (keys %main::) {
        next if $name !~ /^[^\W_]\w*\z/ || $name =~ /^(?:BEGIN|UNITCHECK|CHECK|INIT|END|AUTOLOAD|DESTROY)\z/;
        no strict 'refs';
        next if !defined &{"main::$name"};
        my $code = B::svref_2object(\&{"main::$name"});
        next if $code->XSUB || !${ $code->ROOT } || $code->FILE ne $file;
        my $op = $code->START;
        $op = $op->next while $$op && !$op->can('line');
        $line{$name} = $$op ? $op->line : 0;
    }
    return map { [$_, \&{"main::$_"}] } sort { $line{$a} <=> $line{$b} || $a cmp $b } keys %line;
}

# The candidates, as name and code: what the file has given to Benchmark, or its subs.
sub candidates { @Benchmark::collected ? @Benchmark::collected : named_subs() }

# The sub's process: measures as often as its driver asks.
sub serve_calls {
    my ($code, $counts, $to) = @_;
    end_with_parent();
    open STDERR, '>', '/dev/null';
    while (defined(my $left = readline $counts)) {
        my ($wall, $cpu, $wall_after, $cpu_after) = now(1);
        my $done = eval {
            $cpu = now(2);
            $code->() while $left-- > 0;
            $cpu_after = now(2);
            1;
        };
        my $error = $@;
        $wall_after = now(1);
        $done ? answer($to, 'took', $cpu_after - $cpu, $wall_after - $wall) : answer($to, 'died', first_line($error));
    }
}

# What a call in list context returns and prints, as one line of Perl data.
sub serve_results {
    my ($code, $to) = @_;
    end_with_parent();
    require Data::Dumper;
    open STDERR, '>', '/dev/null';
    open my $printed, '+>', undef or die "a temporary file: $!\n";
    open STDOUT, '>&', $printed or die "standard output: $!\n";
    my @values;
    if (!eval { @values = $code->(); 1 }) {
        return answer($to, 'died', first_line($@));
    }
    close STDOUT;
    seek $printed, 0, 0;
    my $output = do { local $/; readline $printed };
    my $given = { returns => \@values, prints => $output };
    my $text = Data::Dumper->new([$given])->Useqq(1)->Terse(1)->Indent(0)->Sortkeys(1)->Dump;
    print {$to} "gave\t$text\n";
    close $to;
}

# Forks a process for one call of a sub, and passes its answer on.
sub results {
    my ($code) = @_;
    pipe my $from_process, my $to_driver or die "pipe: $!\n";
    defined(my $pid = fork) or die "fork: $!\n";
    if (!$pid) {
        close $from_process;
        serve_results($code, $to_driver);
        kill 'KILL', $$;
    }
    close $to_driver;
    my $told = readline $from_process;
    waitpid $pid, 0;
    return $told;
}

# Forks the process of a sub.
sub process {
    my ($code) = @_;
    pipe my $from_driver, my $to_process or die "pipe: $!\n";
    pipe my $from_process, my $to_driver or die "pipe: $!\n";
    defined(my $pid = fork) or die "fork: $!\n";
    if (!$pid) {
        close $to_process;
        close $from_process;
        serve_calls($code, $from_driver, $to_driver);
        kill 'KILL', $$;
    }
    select((select($to_process), $| = 1)[0]);
    return { pid => $pid, counts => $to_process, answers => $from_process };
}

# Moves the memory of the file's code by a random distance. The place of code and data changes their
# speed, so each driver has another place. Counts need no such sample.
our @padding = @counted ? () : map { 'x' x int rand 1024 } 1 .. rand 64;

$0 = $file;
$@ = '';
{ package main; do $file }
if ($@ ne '') {
    answer($answers, 'failed', first_line($@));
    exit;
}
my @candidates = candidates();
my %code = ('' => sub { }, map { @$_ } @candidates);
if (@counted) {
    my ($name, $count) = @counted;
    my $code = $code{$name};
    $code->() while $count-- > 0;
    exit;
}
answer($answers, 'subs', map { $_->[0] } @candidates);

my %processes;
local $SIG{PIPE} = 'IGNORE';
while (defined(my $command = readline $commands)) {
    chomp $command;
    my ($name, $count) = split /\t/, $command;
    my ($told, $process);
    if ($count eq '=') {
        $told = results($code{$name});
    } else {
        $process = $processes{$name} ||= process($code{$name});
        print { $process->{counts} } "$count\n";
        $told = readline $process->{answers};
        waitpid $process->{pid}, 0 if !defined $told;
    }
    if (defined $told) {
        print {$answers} $told;
        next;
    }
    answer($answers, 'ended', $? & 127 ? ('signal', $? & 127) : ('exit', $? >> 8));
}
kill 'KILL', map { $_->{pid} } values %processes;
