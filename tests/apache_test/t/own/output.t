use strict;
use warnings;
use Apache::Test;
use Apache::TestUtil;
use Apache::TestRequest qw(GET POST HEAD);

# Case, status, body, header lines.
my @cases = (
    [print     => 200, 'one two 007 put written'],
    [counts    => 200, 'four 4 0 true'],
    [write     => 200, '3456'],
    [tied      => 200, 'tied too'],
    [file      => 200, "plain\n"],
    [part      => 200, 'lai'],
    [nofile    => 200, 'ENOENT'],
    [status    => 201, 'made'],
    [length    => 200, 'four', 'Content-Length' => 4],
    [missing   => 404, undef],
    [custom    => 404, 'custom words'],
    [elsewhere => 302, undef, Location => qr{/files/plain\.txt$}],
    [internal  => 200, "plain\n"],
    [sub       => 200, 'before one two 007 put written after 200'],
    [subfile   => 200, "same plain\n"],
    [subcgi    => 200, "before word=within\nmethod=GET\nafter 0"],
    [etag      => 200, 'fresh', 'Last-Modified' => 'Sun, 06 Nov 1994 08:49:37 GMT'],
    [dies      => 500, undef],
    [filtered  => 200, 'TO BE UPPER'],
    [cgi       => 202, 'rest more', 'X-Cgi' => 'yes'],
);
my @posts = ([read => '[0123456][789abcd][ef]'], [discard => 'discarded 0'], [readoff => 'ab...012']);

plan tests => 3 * @cases + @posts + 2, need_lwp;

Apache::TestRequest::user_agent(reset => 1, requests_redirectable => 0);
for my $case (@cases) {
    my ($name, $status, $body, $field, $value) = @$case;
    my $answer = GET "/TestOwn__output?$name";
    ok t_cmp($answer->code, $status, "status of $name");
    ok t_cmp($answer->content, $body // qr/./s, "body of $name");
    ok t_cmp($field ? $answer->header($field) : '', $value // '', "header of $name");
}
for my $case (@posts) {
    my ($name, $body) = @$case;
    ok t_cmp(POST("/TestOwn__output?$name", content => '0123456789abcdef')->content, $body, $name);
}
my $again = GET '/TestOwn__output?etag', 'If-Modified-Since' => 'Sun, 06 Nov 1994 08:49:37 GMT';
ok t_cmp($again->code, 304, 'not modified');
ok t_cmp(HEAD('/TestOwn__output?print')->content, '', 'HEAD');
