# Tests that measurements with near cores and with far cores are not combined.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Distance;

is Distance::word(60, 70),   'near',  'two short ones are near';
is Distance::word(260, 240), 'far',   'two long ones are far';
is Distance::word(60, 260),  'moved', 'one of each: the cores moved';
is Distance::word(0, 260),   '',      'what is not known has no word';

my @theirs = map { {rate => $_->[0], distance => $_->[1]} } [100, 'near'], [50, 'far'], [70, 'moved'], [110, 'near'];
my @ours   = map { {rate => $_->[0], distance => $_->[1]} } [400, 'near'], [90, 'far'], [200, 'far'];
my @groups = Distance::groups(\@theirs, \@ours);
is_deeply [map { $_->[0] } @groups], ['near', 'far'], 'a group for each distance, and none for those that moved';
is_deeply [map { $_->{rate} } @{$groups[0][1]}], [100, 110], 'the near ones together';
is_deeply [map { $_->{rate} } @{$groups[0][2]}], [400],      'beside the near ones of ours';
is_deeply [map { $_->{rate} } @{$groups[1][2]}], [90, 200],  'and the far ones beside far ones';
is scalar(my @moved = Distance::groups([{rate => 1, distance => 'moved'}], undef)), 1, 'nothing but moved ones is still shown';

local $Distance::MEHARI = '/nonexistent/mehari';
is Distance::noted(sub { {rate => 5} })->{distance}, '', 'without the binary the distance is not known';

done_testing;
