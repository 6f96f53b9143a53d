use strict;
use warnings FATAL => 'all';
use Apache::Test;
use Apache::TestUtil;
use lib Apache::Test::vars("serverroot") . "/lib";
use Own::Talk;

plan tests => 3;

my $socket = Own::Talk::connected('TestSpeak::filtered');
Own::Talk::asks($socket, "Hello THERE\n" => "1: noted hello there\n", "AGAIN\n" => "2: noted again\n");
$socket->shutdown(1);
ok t_cmp(join('', <$socket>), '', 'the end of the one is the end of the other');
