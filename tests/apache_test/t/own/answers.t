use strict;
use warnings;
use Apache::Test;
use Apache::TestUtil qw(t_cmp t_start_error_log_watch t_finish_error_log_watch);
use Apache::TestRequest qw(GET GET_RC GET_BODY);

my @codes = ([0, 200], [-1, 404], [404, 404], [403, 403], [500, 500], [601, 500], [313, 500], [1, 500], [exit => 200], [die => 500], [foobar => 200], [foo9bar => 200], [undef => 200]);
my @logs  = (
    [object    => qr/APR::Socket::recv: \(11\) .* at .*answers\.pm line \d+/],
    [hook      => qr/hooked: APR::Socket::recv: \(11\) /],
    [confessed => qr/APR::Socket::recv: \(11\) /],
);
plan tests => @codes + 2 * @logs + 3, need_lwp;

my $path = '/TestOwn__answers';
for my $case (@codes) {
    my ($value, $status) = @$case;
    ok t_cmp(GET_RC("$path?$value"), $status, "what is answered for $value");
}
my $page = GET("$path?200");
ok t_cmp($page->code, 200, 'a status is no way to say OK');
ok t_cmp(GET_BODY("$path?compared"), '1,1,1,1,1,1,1', 'errors compare');
ok t_cmp(GET_BODY("$path?evaluated"), 'again', 'in an eval of text');
for my $case (@logs) {
    my ($name, $expected) = @$case;
    t_start_error_log_watch();
    ok t_cmp(GET_RC("$path?$name"), 500, $name);
    my @lines;
    for (1 .. 50) {
        push @lines, t_finish_error_log_watch();
        last if grep { $_ =~ $expected } @lines;
        t_start_error_log_watch();
        select undef, undef, undef, 0.1;
    }
    ok t_cmp("@lines", $expected, "its line in the log");
}
