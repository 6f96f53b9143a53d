#!/usr/bin/perl
# Tests the rung `psgi` with a real server: what the specification of PSGI leaves to the server, and
# faulty applications. Plack::Test::Suite tests the rest (psgi_plackup.t).

use strict;
use warnings;
use FindBin;
use HTTP::Tiny;
use IO::Socket::INET;
use Test::More;

BEGIN { require "$FindBin::Bin/psgi.pl" }
program() or plan skip_all => 'the program mehari is not built';

my $app = do { local $/; <DATA> };
my $server = Server->start(app => $app);

subtest 'input can be read and seeked like a file handle' => sub {
    is $server->post('/input', "one\ntwo\nthree"), join '|', 'read=one', 'getc=\n', 'getline=two\n', 'rest=three', 'eof=1', 'tell=13', 'again=one\n,two\n,three',
        'sysread=one', 'block=one\ntw', 'copy=three', 'beyond=0', 'stdin=';
    is $server->get('/empty'), 'eof=1 read=0 line=undef';
    my $large = join '', map { "line $_\n" } 1 .. 60_000;
    is $server->post('/count', $large), "60000 lines, " . length($large) . ' bytes';
};

subtest 'input that an application has kept is empty in the next request' => sub {
    is $server->post('/keep', 'a secret'), 'kept';
    is $server->post('/kept', 'another body'), 'own=another body kept=';
    is $server->post('/kept', 'the next'), 'own=the next kept=';
};

subtest 'changes of the environment do not reach the next request' => sub {
    is $server->get('/change'), 'changed';
    is $server->get('/changed', 'X-Field: a'), 'streaming=1 version=1.1 handlers=0 own=undef';
};

subtest 'repeated fields are joined to one value' => sub {
    like $server->exchange('GET', '/fields', 'X-Field: a', 'x-field: b', 'Cookie: c=1', 'Cookie: d=2'), qr/a, b\|c=1; d=2\z/;
};

subtest 'variables of a request do not reach the next request' => sub {
    is $server->get('/names?a=1', 'X-Only-Now: yes'), 'HTTP_HOST,HTTP_USER_AGENT,HTTP_X_ONLY_NOW';
    is $server->get('/names'), 'HTTP_HOST,HTTP_USER_AGENT';
};

subtest 'large array bodies have a length, whatever their elements are' => sub {
    my ($status, $body, $headers) = $server->get('/large');
    is length $body, 3_000_000;
    is $headers->{'content-length'}, 3_000_000;
    is $server->get('/mixed'), "caf\xe9 7 object tied";
};

subtest 'HEAD gets only the head' => sub {
    for my $target ('/large', '/file', '/stream', '/names') {
        my $answer = $server->exchange('HEAD', $target);
        like $answer, qr/\AHTTP\/1\.1 200 .*\r\n\r\n\z/s, $target;
        unlike $answer, qr/Content-Length: 0/i, "$target claims no length that is wrong";
    }
    like $server->exchange('HEAD', '/large'), qr/Content-Length: 3000000/i;
};

subtest '204 and 304 have no body' => sub {
    for my $status (204, 304) {
        for my $kind ('array', 'file', 'stream') {
            like $server->exchange('GET', "/bodiless?$status,$kind"), qr/\AHTTP\/1\.1 $status .*\r\n\r\n\z/s, "$status $kind";
        }
    }
};

subtest 'handles and objects are read and closed' => sub {
    is $server->get('/lines'), 'abc';
    is $server->get('/closed'), 'It::close';
    is length $server->get('/file'), -s $^X;
    is $server->get('/memory'), 'in memory';
    is $server->get('/own-getline'), 'ROOT', 'the getline of a class that reads a file';
};

subtest 'early hints come before the response' => sub {
    like $server->exchange('GET', '/hints'), qr/\AHTTP\/1\.1 103 [^\r]*\r\nlink: <\/a\.css>\r\n\r\nHTTP\/1\.1 200 /i;
};

subtest 'printed text goes to the log and not to the response' => sub {
    is $server->get('/print'), 'answered';
    ok $server->logged(qr/printed to STDOUT/), 'print';
    ok $server->logged(qr/written by a child/), 'a child process';
    ok $server->logged(qr/written with syswrite/), 'syswrite';
};

my %refused = (
    '/dies'            => qr/it dies here at \S+app\.psgi line \d+/,
    '/dies-object'     => qr/an exception object/,
    '/undef'           => qr/the application answered undef; expected \[status, headers, body\] or a code reference/,
    '/hash'            => qr/the application answered a reference to HASH; expected/,
    '/short'           => qr/the application answered an array of 2 elements; expected/,
    '/status'          => qr/the application answered "OK" as its status; expected a number from 200 to 599/,
    '/status-100'      => qr/the application answered "100" as its status/,
    '/odd'             => qr/an odd number of header elements \(3\)/,
    '/no-headers'      => qr/the application answered a reference to HASH as its headers; expected an array reference/,
    '/wide'            => qr/wide characters in its body; expected bytes/,
    '/wide-later'      => qr/wide characters in its body; expected bytes/,
    '/wide-header'     => qr/wide characters in the value of a header/,
    '/wide-stream'     => qr/wide characters in its body/,
    '/split'           => qr/refused a response header of \S+app\.psgi: "X-Split" has a line break/,
    '/bad-name'        => qr/refused a response header of \S+app\.psgi: "X Y" has a name that is no header name/,
    '/text-body'       => qr/the application answered "text" as its body; expected an array reference, a file handle or an object with getline/,
    '/object-body'     => qr/the application answered an object of class Nothing as its body/,
    '/never'           => qr/the application never called its responder/,
    '/twice'           => qr/the responder was called twice at \S+app\.psgi line \d+/,
    '/exits'           => qr/the application called exit before its answer was complete/,
    '/exits-in-eval'   => qr/the application called exit/,
);
for my $target (sort keys %refused) {
    subtest "$target answers 500 and says why" => sub {
        my ($status, $body) = $server->get($target);
        is $status, 500;
        like $body, qr{<title>500 Internal Server Error</title>}, 'the front\'s error page is sent';
        ok $server->logged($refused{$target});
    };
}

subtest 'application that dies after the head leaves an incomplete response' => sub {
    for my $target ('/dies-streaming', '/exits-streaming', '/dies-in-getline') {
        my $answer = $server->exchange('GET', $target);
        like $answer, qr/\AHTTP\/1\.1 200 /, $target;
        unlike $answer, qr/\r\n0\r\n\r\n\z/, "$target has no last chunk";
    }
    ok $server->logged(qr/half way/);
};

subtest 'responder and writer of an ended request are refused' => sub {
    is $server->get('/late'), 'first';
    is $server->get('/late-now'), 'second';
    ok $server->logged(qr/responder: the request this belongs to has ended/);
    ok $server->logged(qr/writer: the request this belongs to has ended/);
    ok $server->logged(qr/closed: the writer is closed/);
};

subtest 'cleanup handlers see the environment, run in order, and may fail' => sub {
    is $server->get('/cleanup'), 'x';
    ok $server->logged(qr/cleanup 1 of \/cleanup.*cleanup 2 dies.*cleanup 3/s);
    is $server->get('/names'), 'HTTP_HOST,HTTP_USER_AGENT', 'and the worker goes on';
};

subtest 'child process that returns from the application ends' => sub {
    my $pid = $server->get('/pid');
    is $server->get('/forks'), 'parent';
    is $server->get('/pid'), $pid;
};

subtest 'signals, separators and handles are as before for the next request' => sub {
    is $server->get('/dirty'), 'done';
    is $server->get('/clean'), 'directory=same mask=same $/=\n $\=undef $,=undef ALRM=DEFAULT selected=main::STDOUT';
};

subtest 'changed application is used from the next generation on' => sub {
    my $before = $server->get('/');
    $server->write('sub { [200, [], ["the new one, longer than nothing"]] }');
    is $server->get('/'), $before, 'a worker does not load the changed file';
    $server->reload;
    ok $server->answers('/', 'the new one, longer than nothing');
    $server->write('sub { [200, [], ["broken"]] ');
    $server->reload;
    ok $server->logged(qr/Missing right curly/);
    is $server->get('/'), 'the new one, longer than nothing', 'an application that does not compile is not used';
    $server->write('sub { [200, [], ["mended again"]] }');
    $server->reload;
    ok $server->answers('/', 'mended again');
};

is $server->stop, 0, 'the server ends with status 0';

done_testing;

__DATA__
use strict;
use warnings;
use Cwd ();

package It { our $closed; sub getline { shift @{ $_[0] } } sub close { $closed = 'It::close' } }
package Nothing { sub new { bless {} } }
package Text { use overload '""' => sub { 'object' } }
package Exception { use overload '""' => sub { 'an exception object' } }
package Tied { sub TIEARRAY { bless [] } sub FETCH { ('caf' . chr 233, ' ', 7, ' ', bless({}, 'Text'), ' tied')[$_[1]] } sub FETCHSIZE { 6 } }

my %path;
my ($kept, $responder, $writer, %dirty);
my $plain = ['Content-Type' => 'text/plain'];

sub text { return [200, $plain, ["@_"]] }
sub shown { return defined $_[0] ? $_[0] =~ s/\n/\\n/gr : 'undef' }

$path{'/input'} = sub {
    my $input = $_[0]{'psgi.input'};
    my @seen;
    $input->read(my $three, 3);
    push @seen, "read=$three", 'getc=' . shown($input->getc), 'getline=' . shown($input->getline);
    push @seen, 'rest=' . join(',', map { shown($_) } $input->getlines), 'eof=' . ($input->eof ? 1 : 0), 'tell=' . $input->tell;
    $input->seek(0, 0);
    push @seen, 'again=' . join ',', map { shown($_) } <$input>;
    seek $input, 0, 0;
    sysread $input, my $raw, 3;
    push @seen, "sysread=$raw";
    seek $input, 0, 0;
    { local $/ = \6; push @seen, 'block=' . shown(scalar <$input>) }
    open my $copy, '<&', $input or die "dup: $!";
    seek $copy, -5, 2;
    push @seen, 'copy=' . <$copy>;
    push @seen, 'beyond=' . (seek($input, 100, 0) ? 1 : 0);
    { local *STDIN = $input; seek STDIN, 0, 2; push @seen, 'stdin=' . join '', <STDIN> }
    return text(join '|', @seen);
};
$path{'/empty'} = sub {
    my $input = $_[0]{'psgi.input'};
    my $eof = $input->eof ? 1 : 0;
    my $got = $input->read(my $buffer, 10);
    return text("eof=$eof read=$got line=" . shown(scalar $input->getline));
};
$path{'/count'} = sub {
    my ($lines, $bytes) = (0, 0);
    my $input = $_[0]{'psgi.input'};
    while (my $line = <$input>) { $lines++; $bytes += length $line }
    return text("$lines lines, $bytes bytes");
};
$path{'/keep'} = sub { $kept = $_[0]{'psgi.input'}; $kept->getc; text('kept') };
$path{'/kept'} = sub {
    my $own = do { local $/; my $input = $_[0]{'psgi.input'}; <$input> };
    seek $kept, 0, 0;
    my $old = do { local $/; <$kept> };
    return text("own=$own kept=" . ($old // ''));
};
$path{'/change'} = sub {
    my $env = shift;
    $env->{'psgi.streaming'} = 0;
    $env->{'psgi.version'}[1] = 9;
    $env->{own} = 1;
    $_ = 'overwritten' for values %$env;
    return text('changed');
};
$path{'/changed'} = sub {
    my $env = shift;
    return text("streaming=$env->{'psgi.streaming'} version=" . join('.', @{ $env->{'psgi.version'} })
        . ' handlers=' . @{ $env->{'psgix.cleanup.handlers'} } . ' own=' . shown($env->{own}));
};
$path{'/fields'} = sub { text("$_[0]{HTTP_X_FIELD}|$_[0]{HTTP_COOKIE}") };
$path{'/names'} = sub { my $env = shift; text(join ',', sort grep { /^HTTP_/ } keys %$env) };
$path{'/large'} = sub { [200, $plain, [('x' x 1000) x 3000]] };
$path{'/mixed'} = sub { tie my @parts, 'Tied'; my $one = "caf\x{e9}"; utf8::upgrade($one); [200, $plain, \@parts] };
$path{'/file'} = sub { open my $file, '<:raw', $^X or die; [200, $plain, $file] };
$path{'/own-getline'} = sub {
    package Limited { require IO::File; our @ISA = 'IO::File'; my $lines; sub getline { $lines++ ? undef : uc substr $_[0]->SUPER::getline, 0, 4 } }
    return [200, $plain, Limited->new('/etc/passwd', '<')];
};
$path{'/memory'} = sub { open my $file, '<', \'in memory' or die; [200, $plain, $file] };
$path{'/stream'} = sub { sub { my $to = shift->([200, $plain]); $to->write('some'); $to->write('thing'); $to->close } };
$path{'/bodiless'} = sub {
    my ($status, $kind) = split /,/, $_[0]{QUERY_STRING};
    return [$status, [], ['a body']] if $kind eq 'array';
    open my $file, '<', \'a body' or die;
    return [$status, [], $file] if $kind eq 'file';
    return sub { my $to = shift->([$status, []]); $to->write('a body'); $to->close };
};
$path{'/lines'} = sub { [200, $plain, bless ['a', '', 'b', 'c'], 'It'] };
$path{'/closed'} = sub { text($It::closed) };
$path{'/hints'} = sub { $_[0]{'psgix.informational'}->(103, [Link => '</a.css>']); text('hinted') };
$path{'/print'} = sub {
    print "printed to STDOUT\n";
    system 'echo written by a child';
    syswrite STDOUT, "written with syswrite\n";
    return text('answered');
};

$path{'/dies'} = sub { die 'it dies here' };
$path{'/dies-object'} = sub { die bless {}, 'Exception' };
$path{'/undef'} = sub { undef };
$path{'/hash'} = sub { +{} };
$path{'/short'} = sub { [200, []] };
$path{'/status'} = sub { ['OK', [], []] };
$path{'/status-100'} = sub { [100, [], []] };
$path{'/odd'} = sub { [200, ['A', 'b', 'C'], []] };
$path{'/no-headers'} = sub { [200, {}, []] };
$path{'/wide'} = sub { [200, $plain, ["\x{263a}"]] };
$path{'/wide-later'} = sub { [200, $plain, [('x' x 1000) x 200, "\x{263a}"]] };
$path{'/wide-header'} = sub { [200, ['X-Wide' => "\x{263a}"], []] };
$path{'/wide-stream'} = sub { sub { my $to = shift->([200, $plain]); $to->write("\x{263a}") } };
$path{'/split'} = sub { [200, ['X-Split' => "a\r\nSet-Cookie: b"], ['x']] };
$path{'/bad-name'} = sub { [200, ['X Y' => 'a'], ['x']] };
$path{'/text-body'} = sub { [200, $plain, 'text'] };
$path{'/object-body'} = sub { [200, $plain, Nothing->new] };
$path{'/never'} = sub { sub { } };
$path{'/twice'} = sub { sub { my $respond = shift; $respond->([200, $plain, ['one']]); $respond->([200, $plain, ['two']]) } };
$path{'/exits'} = sub { exit 0 };
$path{'/exits-in-eval'} = sub { eval { my @sorted = sort { exit 1 } 3, 2, 1 }; text('never seen') };
$path{'/dies-streaming'} = sub { sub { my $to = shift->([200, $plain]); $to->write('some'); die "half way\n" } };
$path{'/exits-streaming'} = sub { sub { my $to = shift->([200, $plain]); $to->write('some'); exit 0 } };
$path{'/dies-in-getline'} = sub { package Failing { sub getline { $_[0][0]++ < 2 ? 'some' : die "half way\n" } sub close { } } [200, $plain, bless [], 'Failing'] };
$path{'/late'} = sub { sub {
    $responder = shift;
    $writer = $responder->([200, $plain]);
    $writer->write('first');
    $writer->close;
    eval { $writer->write('more') } or warn "closed: $@";
} };
$path{'/late-now'} = sub {
    eval { $writer->write('into another answer') } or warn "writer: $@";
    return sub {
        my $respond = shift;
        my $kept_one = sub { Mehari::PSGI::respond(1, [200, $plain, ['stolen']]) };
        eval { $kept_one->() } or warn "responder: $@";
        $respond->([200, $plain, ['second']]);
    };
};
$path{'/cleanup'} = sub {
    push @{ $_[0]{'psgix.cleanup.handlers'} },
        sub { warn "cleanup 1 of $_[0]{PATH_INFO}\n" }, sub { die "cleanup 2 dies\n" }, sub { warn "cleanup 3\n"; exit 1 };
    return text('x');
};
$path{'/pid'} = sub { text($$) };
$path{'/forks'} = sub {
    my $child = fork // die;
    return text('child') unless $child;
    waitpid $child, 0;
    return text('parent');
};
$path{'/dirty'} = sub {
    $/ = undef; $\ = '!'; $, = '-'; $SIG{ALRM} = sub { die }; alarm 1;
    open my $other, '>', '/dev/null'; select $other;
    $dirty{directory} = Cwd::getcwd();
    $dirty{mask} = umask;
    chdir '/';
    umask 0;
    return text('done');
};
$path{'/clean'} = sub {
    select undef, undef, undef, 1.2;
    return text('directory=' . (Cwd::getcwd() eq $dirty{directory} ? 'same' : Cwd::getcwd()) . ' mask=' . (umask == $dirty{mask} ? 'same ' : umask) . '$/=' . shown($/) . ' $\=' . shown($\) . ' $,=' . shown($,) . ' ALRM=' . ($SIG{ALRM} // 'DEFAULT') . ' selected=' . select);
};

sub {
    my $env = shift;
    my $app = $path{ $env->{PATH_INFO} } or return [404, [], []];
    return $app->($env);
};
