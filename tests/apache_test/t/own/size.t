use strict;
use warnings;
use Apache::Test;
use Apache::TestUtil;
use Apache::TestRequest qw(GET_BODY);
plan tests => 4, need_lwp;

sub is_gone {
    my ($process) = @_;
    for (1 .. 100) {
        return 1 unless kill 0, $process;
        select undef, undef, undef, 0.1;
    }
    return 0;
}

my $large = GET_BODY('/TestOwn__size?large');
ok t_cmp($large, qr/\A\d+\z/, 'the worker answers');
ok t_cmp(kill(0, $large), 1, 'and goes on below the limit');
my $small = GET_BODY('/TestOwn__size?small');
ok is_gone($small);
ok t_cmp(GET_BODY('/TestOwn__size?large'), qr/\A\d+\z/, 'another one answers');
