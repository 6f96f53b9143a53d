use strict;
use warnings;
use Apache::Test;
use Apache::TestUtil;
use Apache::TestRequest qw(GET GET_BODY);
plan tests => 8, need_lwp;
my $path = '/TestPass__output';
ok t_cmp(GET_BODY("$path/many"), '11 11', 'a call for each flush, and one for the end');
ok t_cmp(GET_BODY("$path/blocks"), '#' x 33 . ' ' . 'x' x 33 . ' 34', 'what is kept between calls');
ok t_cmp(GET_BODY("$path/begun"), "begun 1\ncall 1\n", 'it begins before the answer; nothing comes behind the end');
my $sized = GET("$path/sized");
ok t_cmp($sized->content, join('', 'aa' .. 'zz'), 'all held back');
ok t_cmp($sized->header('Content-Length'), 2 * 676, 'its length');
ok t_cmp(GET_BODY("$path/leaves"), 'F_O_O_b_a_r_', 'a filter that leaves');
ok t_cmp(GET_BODY("$path/evals"), 'text kept', '$@ is the handler\'s');
ok t_cmp(GET_BODY("$path/file"), uc t_slurp(), 'sendfile');
sub t_slurp { my $file = Apache::Test::vars('documentroot') . '/files/plain.txt'; open my $in, '<', $file or die "$file: $!"; local $/; return <$in> }
