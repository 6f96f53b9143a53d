# Measures one contender once: starts a new server, checks a response, warms the server up, loads
# it, reads the figures of its processes, and stops it.
package Contest;
use strict;
use warnings;
use File::Path qw(make_path remove_tree);
use H2load;
use HTTP::Tiny;
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use List::Util qw(sum);
use Processes;
use Programs;
use Wrk;

my $WARM_SECONDS = 1;

# The text that each page must contain, so that no error page is measured.
my $FORM  = qr/\Aa => e{10}\nb => e{10}/;
my %PROOF = (hello => qr/\AHello, world\n\z/, report => qr{<p>80 caravans, \d+ camels, [\d.]+ t</p>}, small => qr/Line 20 of a small static page/,
    form => qr{name="a" [^>]*value="e{10}".*name="y".*</html>}s, lines => qr{<td>200</td><td>caravan 200 of \S+</td><td>line 200</td></tr>\n</table>\n\z},
    connect => qr{\ALeader <\d+> & sons has \d+ camels\n\z},
    text => qr/\Aa text of 102400 bytes.* end\n\z/s, '100k' => qr/\Aa file of 102400 bytes.*end\n\z/s, '10m' => qr/\Aa file of 10485760 bytes.*end\n\z/s,
    map { ("$_-25" => qr/$FORM\z/, "$_-337" => qr/$FORM\nc => .*\nz => e{10}\z/s) } qw(args request cgi));

# Measures. contest: a result of Matchup::plan. contender: one of its contenders. settings: site,
# folder, connections, workers, cores, seconds. Returns wrk's result with cpu_us (CPU time for a
# request), both_us (the same with the client's CPU time) and private_kib (the mean of the workers),
# or dies.
sub measure {
    my ($contest, $contender, $settings) = @_;
    remove_tree($settings->{folder});
    make_path($settings->{folder}, {mode => 0755});
    my $server = $contender->{class}->new(%$settings, rung => $contender->{rung}, keep_alive => $contest->{keep_alive}, secure => $contest->{secure}, http2 => !!$contest->{streams});
    $server->start;
    my $url = $server->url($contender->{class}->path_of($contender->{rung}, script($contest->{page})) . query($contest->{page}));
    check($server, $url, $contest);
    my $load = $contest->{streams} ? \&H2load::run : \&Wrk::run;
    my %load = (streams => $contest->{streams}, url => $url, connections => $settings->{connections}, keep_alive => $contest->{keep_alive}, coding => $contest->{coding});
    my $warm   = $load->(%load, seconds => $WARM_SECONDS);
    my $before = Processes::cpu_seconds($server->tree);
    my $result = $load->(%load, seconds => $settings->{seconds});
    my $after  = Processes::cpu_seconds($server->tree);
    if ($result->{requests}) {
        $result->{cpu_us}  = 1e6 * ($after - $before) / $result->{requests};
        $result->{both_us} = $result->{cpu_us} + 1e6 * $result->{client_seconds} / $result->{requests};
    }
    $result->{private_kib} = mean(grep { defined } map { Processes::private_kib($_) } $server->workers);
    $result->{processes} = scalar(my @tree = $server->tree);
    $server->stop;
    my $logged = lines_of($server->file('access.log'));
    my $answered = $warm->{requests} + $result->{requests};
    my $unlogged = $logged < $answered ? "only $logged of $answered answers in the access log" : '';
    $result->{faults} = join '; ', grep { length } $result->{faults}, $unlogged;
    return $result;
}

# Returns the script of a page. A form's page names the script and the length of the query: `cgi-25`
# is the script `cgi` with a query of 25 characters.
sub script { my ($page) = @_; return $page =~ s/-(?:25|337)\z//r }

sub query {
    my ($page) = @_;
    return '?' . join '&', map { "$_=" . 'e' x 10 } 'a' .. ($1 == 25 ? 'b' : 'z') if $page =~ /-(25|337)\z/;
    return '?' . join '&', map { "$_=" . 'e' x 10 } 'a' .. 'y' if $page eq 'form';
    return '?city=Tozeur' if $page eq 'report';
    my $program = Programs::program($page);
    return $program ? $program->{query} : '';
}

sub check {
    my ($server, $url, $contest) = @_;
    my $page   = $contest->{page};
    my $answer = $server->{secure} ? answer_over_tls($url) : HTTP::Tiny->new(timeout => 10)->get($url, {headers => {$contest->{coding} ? ('Accept-Encoding' => $contest->{coding}) : ()}});
    unpacked($server, $answer) if $contest->{coding};
    # nginx's `return` is compared with the file and with the script, and always answers the
    # script's text.
    my $proof = $page eq 'small' && $url =~ /return/ ? $PROOF{hello} : $PROOF{$page} // Programs::program($page)->{proof};
    return if $answer->{status} == 200 && $answer->{content} =~ $proof;
    $server->fail("answered $answer->{status} on $url, and not with the page expected: " . substr $answer->{content}, 0, 300);
    return;
}

# Replaces a compressed body by the unpacked body.
sub unpacked {
    my ($server, $answer) = @_;
    my $coding = $answer->{headers}{'content-encoding'} // 'no coding';
    $coding eq 'gzip' or $server->fail("answered with $coding where gzip was asked for");
    my $packed = $answer->{content};
    gunzip(\$packed, \$answer->{content}) or $server->fail("answered with what is not gzip: $GunzipError");
    return;
}

# Requests a page over TLS with curl, because HTTP::Tiny needs additional modules for TLS.
sub answer_over_tls {
    my ($url) = @_;
    open my $output, '-|', 'curl', '--silent', '--insecure', '--http1.1', '--max-time', '10', '--write-out', '%{http_code}', $url
        or die "cannot run curl: $!\n";
    my $said = do { local $/; <$output> } // '';
    close $output;
    return $said =~ s/(\d{3})\z// ? {status => $1, content => $said} : {status => 599, content => $said};
}

# Counts the lines of the access log. A server that writes no log would do less work than the
# others.
sub lines_of {
    my ($path) = @_;
    open my $file, '<:raw', $path or return 0;
    my $lines = 0;
    while (read $file, my $block, 1 << 20) { $lines += $block =~ tr/\n// }
    return $lines;
}

sub mean { return @_ ? sum(@_) / @_ : undef }

1;
