# The guestbook as a CGI program: the whole conversation of a visitor, and of visitors that must not
# be trusted.
use strict;
use warnings;
use FindBin;
use File::Temp qw(tempdir);
use Test::More;

# The test works on a copy, so that its entries do not appear in the demonstration.
my $folder = tempdir(CLEANUP => 1);
system('cp', '-R', "$FindBin::Bin/../scripts", "$FindBin::Bin/../lib", $folder) == 0 or die 'cannot copy the demonstration';

# Runs the script once. Returns its header block and its body.
sub ask {
    my ($method, $body, $cookie) = @_;
    open my $input, '>', "$folder/input" or die $!;
    print {$input} $body // '';
    close $input or die $!;
    local %ENV = (PATH => $ENV{PATH}, GATEWAY_INTERFACE => 'CGI/1.1', SERVER_PROTOCOL => 'HTTP/1.1', REQUEST_METHOD => $method,
        SCRIPT_NAME => '/scripts/guestbook.pl', SERVER_NAME => 'localhost', SERVER_PORT => 80, QUERY_STRING => '',
        defined $body ? (CONTENT_TYPE => 'application/x-www-form-urlencoded', CONTENT_LENGTH => length $body) : (),
        defined $cookie ? (HTTP_COOKIE => "guestbook=$cookie") : ());
    my $answer = `$^X $folder/scripts/guestbook.pl < $folder/input`;
    is $?, 0, "$method: the script ends well";
    return split /\n\n/, $answer, 2;
}

my ($head, $page) = ask('GET');
like $head, qr/^Status: 200 /m, 'the first visit makes the database';
my ($cookie) = $head =~ /^Set-Cookie: guestbook=([0-9a-f]{32}); .*HttpOnly; SameSite=Strict$/m or die "no cookie in:\n$head";
my ($token) = $page =~ /name="token" value="([0-9a-f]{64})"/ or die 'no token';
like $page, qr/Nobody has written yet/, '... and it is empty';

($head) = ask('POST', "token=$token&name=Zo%C3%AB+%3Cb%3E&message=a+%26+%3Cscript%3E%0D%0Asecond+%22line%22", $cookie);
like $head, qr/^Status: 303 /m, 'an entry is answered by a redirect';
like $head, qr{^Location: /scripts/guestbook\.pl$}m, '... to the page itself';
($head, $page) = ask('GET', undef, $cookie);
like $page, qr/One entry\./, 'it is stored once';
like $page, qr/<strong>Zo\xc3\xab &lt;b&gt;<\/strong>/, 'a name is UTF-8 and escaped';
like $page, qr/<p>a &amp; &lt;script&gt;\nsecond &quot;line&quot;<\/p>/, 'a message is escaped and keeps its lines';

ask('POST', q(token=) . $token . q(&name=x&message=%27%29%3B+DROP+TABLE+entry%3B+--), $cookie);
(undef, $page) = ask('GET', undef, $cookie);
like $page, qr/2 entries\..*&#39;\); DROP TABLE entry; --/s, 'SQL is a text like any other';

my %REFUSED = (
    'no token'               => ["name=x&message=y", $cookie, qr/form has expired/],
    'a made-up token'        => ['token=' . 'a' x 64 . '&message=y', $cookie, qr/form has expired/],
    'the token of another'   => ["token=$token&message=y", 'b' x 32, qr/form has expired/],
    'a token without cookie' => ["token=$token&message=y", undef, qr/form has expired/],
    'an empty message'       => ["token=$token&message=+%0D%0A+", $cookie, qr/write a message/],
    'a long name'            => ["token=$token&message=y&name=" . 'n' x 61, $cookie, qr/60 characters/],
    'a long message'         => ["token=$token&message=" . 'm' x 1001, $cookie, qr/1000 characters/],
    'a huge body'            => ["token=$token&message=" . 'm' x 40_000, $cookie, qr/too long/],
);
for my $case (sort keys %REFUSED) {
    my ($body, $with, $says) = @{$REFUSED{$case}};
    ($head, $page) = ask('POST', $body, $with);
    like $head, qr/^Status: 422 /m, "$case is refused";
    like $page, $says, '... in words';
    like $page, qr/2 entries\./, '... and not stored';
}
(undef, $page) = ask('POST', "token=wrong&name=A+%22B%22&message=mine+%3C", $cookie);
like $page, qr/value="A &quot;B&quot;".*>mine &lt;<\/textarea>/s, 'what was refused is still in the form';

($head) = ask('PUT', 'x=y', $cookie);
like $head, qr/^Status: 405 .*\nAllow: GET, HEAD, POST$/m, 'another method is answered 405 with Allow';

# Several visitors use a new database at the same moment.
system('rm', '-rf', "$folder/.data");
my @visitors = map { my $pid = fork // die $!; $pid or do { local %ENV = (PATH => $ENV{PATH}, REQUEST_METHOD => 'GET',
    SCRIPT_NAME => '/g'); open STDOUT, '>', '/dev/null'; exec $^X, "$folder/scripts/guestbook.pl" } ; $pid } 1 .. 8;
is_deeply [map { waitpid $_, 0; $? } @visitors], [(0) x 8], 'eight first visitors at once are all served';

done_testing;
