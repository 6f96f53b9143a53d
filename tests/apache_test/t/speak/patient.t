use strict;
use warnings FATAL => 'all';
use Apache::Test;
use Apache::TestUtil;
use lib Apache::Test::vars("serverroot") . "/lib";
use Own::Talk;

plan tests => 9;

my $seen   = "Apache2::Connection APR::Socket 1 ready 6 HELLO 1 late nothing late 0 1 1000\n";
my $socket = Own::Talk::connected('TestSpeak::patient');
Own::Talk::asks($socket, "hello\n" => $seen, "more\n" => "MORE\n", "again\n" => "AGAIN\n", 'x' x 500 . "\n" => 'X' x 500 . "\n");
print $socket "quit\n";
ok t_cmp(join('', <$socket>), 'that was ', 'the last words, and the end');

my $dying = Own::Talk::connected('TestSpeak::patient');
Own::Talk::asks($dying, "hello\n" => $seen);
print $dying "die\n";
ok t_cmp(join('', <$dying>), '', 'an exception ends the connection');
my $other = Own::Talk::connected('TestSpeak::patient');
Own::Talk::asks($other, "hello\n" => $seen, "alive\n" => "ALIVE\n");
