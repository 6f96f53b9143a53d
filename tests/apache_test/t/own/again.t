use strict;
use warnings;
use Apache::Test;
use Apache::TestUtil;
use Apache::TestRequest qw(GET);

plan tests => 4, need_lwp;
Apache::TestRequest::user_agent(reset => 1, keep_alive => 1);
ok t_cmp(GET('/TestOwn__again?one')->content, '0 1 one', 'the first');
ok t_cmp(GET('/TestOwn__again?two')->content, '1 2 one two', 'the second');
ok t_cmp(GET('/TestOwn__again?three')->content, '2 3 one two three fixup 0', 'the third');
Apache::TestRequest::user_agent(reset => 1, keep_alive => 0);
ok t_cmp(GET('/TestOwn__again?one')->content, '0 1 one', 'on another connection');
