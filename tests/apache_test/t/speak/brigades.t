use strict;
use warnings FATAL => 'all';
use Apache::Test;
use Apache::TestUtil;
use lib Apache::Test::vars("serverroot") . "/lib";
use Own::Talk;

plan tests => 4;

my $socket = Own::Talk::connected('TestSpeak::brigades');
Own::Talk::asks($socket, "abc\n" => "Cba\n");
print $socket "one\ntwo\n\nnever seen\n";
ok t_cmp(scalar(<$socket>), "Eno\n", 'lines that come together');
ok t_cmp(scalar(<$socket>), "Owt\n", 'are read one by one');
ok t_cmp(join('', <$socket>), '', 'up to the empty one');
