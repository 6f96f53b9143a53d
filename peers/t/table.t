# Tests medians, ratios within a round, and the layout of the table.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Table;

is Table::median(3, 1, 2),    2,   'an odd number of samples has one in the middle';
is Table::median(4, 1, 2, 3), 2.5, 'an even number has two';
is Table::median(undef, 5),   5,   'a sample that could not be taken is left out';
is Table::median(),           undef, 'no sample, no median';
is Table::grouped(1234567.4), '1,234,567', 'thousands are grouped';
is Table::grouped(undef),     '-', 'what was not measured is a dash';

my $contest = {name => 'registry', page => 'hello'};
my @peer = map { {rate => $_, p50 => 10, p99 => 90, cpu_us => 20, both_us => 35, private_kib => 1000, faults => ''} } 100, 200, 300;
my @ours = map { {rate => $_} } 500, 800, 900;
my $row = Table::row($contest, 'A peer', 'near', \@peer, \@ours);
is $row->{rate},  200, 'the rate is the median of the rounds';
is $row->{ratio}, 4,   'the ratio is the median of the ratios within each round: 5, 4 and 3';
is_deeply $row->{spread}, [100, 300], 'the spread is the lowest and the highest';
ok !exists Table::row($contest, 'Mehari', '', \@ours, undef)->{ratio}, 'Mehari is not compared with itself';

my @lines = split /\n/, Table::text($row);
is scalar @lines, 2, 'a head and a line a row';
like $lines[1], qr/^registry\s+hello\s+A peer\s+near x3\s+200\s+100\.\.300\s+10\s+90\s+20\.0\s+35\.0\s+1,000\s+4\.00$/, 'a row in the order of the head';

done_testing;
