use strict;
use warnings;
use Apache::Test;
use Apache::TestUtil qw(t_cmp t_start_error_log_watch t_finish_error_log_watch);
use Apache::TestRequest qw(GET POST HEAD UPLOAD_BODY POST_BODY);

plan tests => 14, need 'LWP', need_module(qw(mod_perl.c mod_alias.c CGI));

my $page = GET '/index.html';
ok t_cmp($page->code, 200, 'index.html');
ok t_cmp($page->header('Server') || '', qr/./, 'Server');
ok t_cmp(GET('/own-perl-section/plain.txt')->content, "plain\n", 'an alias of a <Perl> section');
ok t_cmp(GET('/nothing')->code, 404, 'what is not there');
ok t_cmp(GET('/registry/echo.pl?word=a')->content, "word=a\nmethod=GET\n", 'a script of Registry');
ok t_cmp(POST_BODY('/registry/echo.pl', [word => 'b c']), "word=b c\nmethod=POST\n", 'a form');
ok t_cmp(HEAD('/registry/echo.pl')->content, '', 'HEAD');
ok t_cmp(GET('/cgi-bin/echo.pl?word=x')->content, "word=x\nmethod=GET\n", 'the same as a program');
my $body = UPLOAD_BODY '/registry/upload.pl', content => 'some text of a file';
ok t_cmp($body, 'some text of a file', 'an upload');
ok t_cmp(GET('/registry/status.pl')->code, 403, 'a status of a script');

t_start_error_log_watch();
my $failed = GET '/registry/dies.pl';
ok t_cmp($failed->code, 500, 'a script that dies');
my @lines;
for (1 .. 50) {
    push @lines, t_finish_error_log_watch();
    last if @lines;
    t_start_error_log_watch();
    select undef, undef, undef, 0.1;
}
ok t_cmp(scalar(grep { /it dies here at .*dies\.pl line 3/ } @lines), 1, 'one line in the error log');
ok t_cmp(GET('/server-info')->code, 200, 'server-info');
ok t_cmp(GET('/server-status?auto')->content, qr/^Total Accesses: \d+$/m, 'server-status');
