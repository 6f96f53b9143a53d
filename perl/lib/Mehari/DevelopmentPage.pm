package Mehari::DevelopmentPage;

# Makes the error page of an application under `mehari serve --watch`: the stack with source lines,
# the request, the session and the environment. Mehari::PSGI wraps the application. Only a browser
# on this machine gets the page. Every other client gets the server's page of a 500.

use strict;
use warnings;
use Data::Dumper ();
use Digest::SHA  ();

my $AROUND = 4;             # source lines before and after the line of a frame
my $DEEPEST = 60;           # frames
my $LONGEST = 4096;         # characters of one value
my $LARGEST_FILE = 2 << 20; # bytes of a source file that is read
my $HIDDEN = qr/PASS|SECRET|TOKEN|CREDENTIAL|AUTHORIZATION|COOKIE|(?:\A|_)KEY(?:\z|_)/i;

my $STYLE = <<'END';
:root { color-scheme: light dark; --ground: #fbf6ee; --raised: #fff; --ink: #2b2118; --quiet: #75665a; --line: #e7dac8; --accent: #a8481f; --mark: #f6dfc8 }
@media (prefers-color-scheme: dark) { :root { --ground: #12151f; --raised: #1b2030; --ink: #f0e9df; --quiet: #a9a3a0; --line: #30374b; --accent: #f0a35e; --mark: #4a3320 } }
* { box-sizing: border-box }
html { font: 17px/1.6 ui-sans-serif, system-ui, "Segoe UI", Roboto, sans-serif; background: var(--ground); color: var(--ink) }
body { margin: 0 auto; padding: 1.5rem 1.25rem 3rem; max-width: 62rem }
h1 { font-size: clamp(1.3rem, 1rem + 1.5vw, 1.9rem); line-height: 1.25; overflow-wrap: anywhere; white-space: pre-wrap; color: var(--accent) }
h2 { font-size: 1.2rem; margin: 2em 0 .5em }
pre, code, td, th { font: .82rem/1.5 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }
pre { background: var(--raised); border: 1px solid var(--line); border-radius: 8px; padding: .6rem 0; margin: .4rem 0; overflow-x: auto }
pre span { display: block; padding: 0 .9rem; min-width: max-content }
pre .here { background: var(--mark); font-weight: 700 }
summary { cursor: pointer; padding: .35rem 0; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; white-space: pre-wrap }
th { color: var(--quiet); width: 16rem }
.quiet { color: var(--quiet) }
@media (max-width: 40rem) { th, td { display: block; width: auto; border: 0; padding: .1rem 0 } td { border-bottom: 1px solid var(--line); padding-bottom: .4rem } }
END

my $POLICY = join '; ', "default-src 'none'", q{style-src 'sha256-} . _digest($STYLE) . q{'}, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'";

sub _digest {
    my $digest = Digest::SHA::sha256_base64($_[0]);
    return $digest . '=' x (-length($digest) % 4);
}

# Returns an application that answers with the page where the given application dies.
sub wrap {
    my ($app) = @_;
    return sub {
        my ($env) = @_;
        return $app->($env) unless is_for($env);
        my ($response, $failure) = _caught($app, $env);
        return _page($env, $failure) if $failure;
        return $response unless ref $response eq 'CODE';
        return sub { _delayed($env, $response, @_) };
    };
}

# Runs the callback of a delayed response.
sub _delayed {
    my ($env, $callback, $responder) = @_;
    my $is_called;
    my $noting = sub { $is_called = 1; return $responder->(@_) };
    my (undef, $failure) = _caught($callback, $noting);
    return unless $failure;
    die $failure->{error} if $is_called; # the head is on its way
    return $responder->(_page($env, $failure));
}

# Whether the client may see the page: a browser of this machine that asks this machine by its own
# name. A forwarded request comes from elsewhere. A foreign name may be one that another site's
# page uses to read this page (DNS rebinding).
sub is_for {
    my ($env) = @_;
    my $peer = $env->{REMOTE_ADDR} // '';
    return 0 unless $peer =~ /\A127\.\d+\.\d+\.\d+\z/ || $peer eq '::1';
    return 0 if grep { exists $env->{"HTTP_$_"} } qw(FORWARDED VIA X_FORWARDED_FOR X_FORWARDED_HOST X_FORWARDED_PROTO X_REAL_IP);
    my $host = lc($env->{HTTP_HOST} // '');
    return $host =~ /\A(?:localhost|[a-z0-9-]+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?\z/ ? 1 : 0;
}

# Calls the code. Returns its result, or undef and the error with its stack.
sub _caught {
    my ($code, @arguments) = @_;
    my ($died, @frames);
    my $outer = $SIG{__DIE__};
    local $SIG{__DIE__} = sub {
        # An error that is thrown again keeps the stack of the first throw.
        unless (defined $died && "$died" eq "$_[0]") {
            $died   = $_[0];
            @frames = _frames();
        }
        $outer->(@_) if ref $outer eq 'CODE';
    };
    my $result;
    return $result if eval { $result = $code->(@arguments); 1 };
    my $error = $@;
    @frames = () unless defined $died && "$died" eq "$error";
    return undef, { error => $error, frames => \@frames };
}

# Returns the frames from the place of the `die` outwards, without the server's own.
sub _frames {
    my @frames;
    for (my $level = 1; @frames < $DEEPEST; $level++) {
        my ($package, $file, $line) = caller $level or last;
        next if $package eq __PACKAGE__ || !$line;
        my $sub = (caller $level + 1)[3] // '';
        $sub =~ s/\APlack::Sandbox::\w+:://;
        push @frames, { file => $file, line => $line, sub => $sub };
    }
    return @frames;
}

sub _page {
    my ($env, $failure) = @_;
    my $text   = "$failure->{error}";
    my @frames = @{ $failure->{frames} };
    print STDERR $text =~ /\n\z/ ? $text : "$text\n";
    if (!@frames && $text =~ /^.*? at (\S+) line (\d+)/m) { @frames = { file => $1, line => $2, sub => '' } }
    my $wants_html = ($env->{HTTP_ACCEPT} // '') =~ m{text/html};
    my ($type, $body) = $wants_html ? ('text/html', _html($env, $text, @frames)) : ('text/plain', _plain($text, @frames));
    utf8::encode($body);
    my @head = (
        'Content-Type'            => "$type; charset=utf-8",
        'Content-Length'          => length $body,
        'Content-Security-Policy' => $POLICY,
        'X-Content-Type-Options'  => 'nosniff',
        'Referrer-Policy'         => 'no-referrer',
        'Cache-Control'           => 'no-store',
    );
    return [500, \@head, [$body]];
}

sub _plain {
    my ($text, @frames) = @_;
    my $stack = join '', map { "  at $_->{file} line $_->{line}" . ($_->{sub} ? " in $_->{sub}" : '') . "\n" } @frames;
    return ($text =~ /\n\z/ ? $text : "$text\n") . $stack;
}

sub _html {
    my ($env, $text, @frames) = @_;
    my $is_first = 1;
    my $stack = join '', map { _frame($_, $is_first-- > 0) } @frames;
    my $session = $env->{'psgix.session'};
    my %request = map { $_ => $env->{$_} } grep { /\A[A-Z]/ } keys %$env;
    my %server = map { $_ => $env->{$_} } grep { !/\A[A-Z]/ && $_ ne 'psgix.session' } keys %$env;
    return join '', '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">', '<title>500: ', _escaped(substr $text, 0, 80),
        "</title><style>$STYLE</style></head><body><main><h1>", _escaped($text), '</h1><p class="quiet">', _escaped("$env->{REQUEST_METHOD} $env->{REQUEST_URI}"),
        '. Only browsers on this machine see this page, and only under <code>--watch</code>.</p>',
        $stack ? "<h2>Stack</h2>$stack" : '', '<h2>Request</h2>', _table(\%request), '<h2>Session</h2>',
        ref $session eq 'HASH' && %$session ? _table($session) : '<p class="quiet">none</p>', '<h2>Environment</h2>', _table(\%ENV), '<h2>PSGI</h2>', _table(\%server), '</main></body></html>';
}

sub _frame {
    my ($frame, $is_open) = @_;
    my $name = _escaped("$frame->{file} line $frame->{line}" . ($frame->{sub} ? " in $frame->{sub}" : ''));
    my @lines = _source($frame->{file}, $frame->{line});
    return "<p>$name</p>" unless @lines;
    my $source = join '', map { '<span' . ($_->[0] == $frame->{line} ? ' class="here"' : '') . '>' . sprintf('%5d  ', $_->[0]) . _escaped($_->[1]) . '</span>' } @lines;
    return '<details' . ($is_open ? ' open' : '') . "><summary>$name</summary><pre tabindex=\"0\">$source</pre></details>";
}

# Returns the lines around a line: their numbers and texts. Empty if the file is no plain file.
sub _source {
    my ($file, $line) = @_;
    return unless -f $file && -s _ <= $LARGEST_FILE && open my $in, '<', $file;
    my @lines;
    while (defined(my $text = readline $in)) {
        last if $. > $line + $AROUND;
        push @lines, [$., $text =~ s/\s+\z//r] if $. >= $line - $AROUND;
    }
    return @lines;
}

sub _table {
    my ($values) = @_;
    my $rows = join '', map { '<tr><th>' . _escaped($_) . '</th><td>' . _escaped(_value($_, $values->{$_})) . '</td></tr>' } sort keys %$values;
    return "<table>$rows</table>";
}

# Returns a value as text. The values of names such as DATABASE_PASSWORD are not shown.
sub _value {
    my ($name, $value) = @_;
    return '(hidden)' if $name =~ $HIDDEN;
    return 'undef' unless defined $value;
    my $text = ref $value ? Data::Dumper->new([$value])->Terse(1)->Indent(1)->Sortkeys(1)->Maxdepth(2)->Useqq(1)->Dump : "$value";
    return length $text > $LONGEST ? substr($text, 0, $LONGEST) . ' ...' : $text;
}

sub _escaped {
    my ($text) = @_;
    my %entity = ('&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;', q{'} => '&#39;');
    utf8::decode($text) unless utf8::is_utf8($text);
    return $text =~ s/([&<>"'])/$entity{$1}/gr =~ s/([\x00-\x08\x0b-\x1f\x7f])/sprintf '\\x%02x', ord $1/ger;
}

1;

__END__

=head1 NAME

Mehari::DevelopmentPage - internal

=head1 DESCRIPTION

This module is internal to the server: it makes the error page that a browser on the same machine
gets from an application under C<mehari serve --watch>.

=cut
