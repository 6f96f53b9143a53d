# Tests the process tree and its figures with processes of its own.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Processes;

# The parent runs a child that uses CPU time, waits for this child, and then keeps another child
# alive until its own input ends.
pipe my $ready, my $say_ready or die $!;
pipe my $until, my $end       or die $!;
my $parent = fork // die $!;
if (!$parent) {
    close $end;
    my $burner = fork // die $!;
    if (!$burner) { 1 while (times)[0] < 0.2; exec '/bin/true' }
    waitpid $burner, 0;
    my $keeper = fork // die $!;
    if (!$keeper) { readline $until; exec '/bin/true' }
    syswrite $say_ready, "$keeper\n";
    waitpid $keeper, 0;
    exec '/bin/true';
}
chomp(my $keeper = <$ready>);

is_deeply [Processes::tree($parent)], [$parent, $keeper], 'the tree is the parent and its living child';
cmp_ok Processes::cpu_seconds(Processes::tree($parent)), '>=', 0.2, 'the time of a child that ended is counted';
cmp_ok Processes::private_kib($keeper), '>', 0, 'a living process has memory of its own';

like Processes::name($keeper), qr/\A(?:perl|processes\.t)\z/, '... and the name of its program';

close $end;
waitpid $parent, 0;
is Processes::private_kib($keeper), undef, 'a process that ended has none';
is Processes::cpu_seconds($keeper), 0, '... and no time';
is Processes::name($keeper), '', '... and no name';
my $before = Processes::waited_for();
system $^X, '-e', 'my $until = times() + 0.1; 1 while times() < $until';
cmp_ok Processes::waited_for() - $before, '>=', 0.1, 'a program that was waited for has its time counted';

done_testing;
