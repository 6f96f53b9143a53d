# Compiles a Perl file, and measures its subs in forked processes, one for each sub. The processes
# take turns: the caller says on standard input which sub is called how often.
#
# Arguments: the numbers of the system calls clock_gettime and prctl, and the file.
#
# Answers, one line each, with tabs between the words:
#   subs NAME ...                the file's candidates, in the order of the file
#   failed MESSAGE               the file cannot be compiled or run
#   took CPU_NS WALL_NS          the calls are made
#   died MESSAGE                 the sub died
#   ended exit|signal NUMBER     the sub's process ended
package Mehari::Time;
my ($clock, $prctl, $file) = splice @ARGV, 0, 3;

# A driver whose caller ends, and a sub's process whose driver ends, end too (PR_SET_PDEATHSIG).
sub end_with_parent { syscall($prctl + 0, 1, 9) }
end_with_parent();

open my $commands, '<&', \*STDIN or die "standard input: $!\n";
open my $answers, '>&', \*STDOUT or die "standard output: $!\n";
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
sub candidates {
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
    return sort { $line{$a} <=> $line{$b} || $a cmp $b } keys %line;
}

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

# Moves the memory of the file's code by a random distance: where code and data lie changes their
# speed, and each driver is to be a fair sample of the places.
our @padding = map { 'x' x int rand 1024 } 1 .. rand 64;

$0 = $file;
$@ = '';
{ package main; do $file }
if ($@ ne '') {
    answer($answers, 'failed', first_line($@));
    exit;
}
my @names = candidates();
answer($answers, 'subs', @names);

my %code = ('' => sub { });
{ no strict 'refs'; $code{$_} = \&{"main::$_"} for @names; }
my %processes;
local $SIG{PIPE} = 'IGNORE';
while (defined(my $command = readline $commands)) {
    chomp $command;
    my ($name, $count) = split /\t/, $command;
    my $process = $processes{$name} ||= process($code{$name});
    print { $process->{counts} } "$count\n";
    my $from = $process->{answers};
    my $told = readline $from;
    if (defined $told) {
        syswrite $answers, $told;
        next;
    }
    waitpid $process->{pid}, 0;
    answer($answers, 'ended', $? & 127 ? ('signal', $? & 127) : ('exit', $? >> 8));
}
kill 'KILL', map { $_->{pid} } values %processes;
