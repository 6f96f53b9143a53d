# A PSGI application without a framework: a subroutine that takes the environment and returns
# status, headers and body.
use strict;
use warnings;
use utf8;
use File::Basename qw(dirname);
use lib dirname(__FILE__) . '/lib';
use Encode ();
use Demo::Page ();

my %PAGES = ('/' => \&overview, '' => \&to_overview, '/stream' => \&stream, '/hello' => \&hello);

# Returns the request's values as a page.
sub overview {
    my ($env) = @_;
    my @told = map { [$_, ref $env->{$_} ? ref $env->{$_} : $env->{$_} // 'undef'] } sort grep { !/^HTTP_COOKIE$/ } keys %$env;
    my $html = Demo::Page::html(
        title   => 'PSGI',
        address => 'psgi/',
        root    => '../',
        content => <<"END" . Demo::Page::table(@told),
<h1>A PSGI application</h1>
<p class="lead">One file, <code>app.psgi</code>, whose last value is a subroutine. No framework is loaded.</p>
<p><a href="hello">A plain answer</a> · <a href="stream">An answer that comes in pieces</a></p>
<h2>What it was told of your request</h2>
END
    );
    return [200, ['Content-Type' => 'text/html; charset=utf-8', 'Cache-Control' => 'no-store'], [Encode::encode('UTF-8', $html)]];
}

# The links of the page are relative, so its address must end with a slash.
sub to_overview {
    my ($env) = @_;
    return [301, ['Location' => "$env->{SCRIPT_NAME}/", 'Content-Type' => 'text/plain'], ["The application is at $env->{SCRIPT_NAME}/\n"]];
}

sub hello {
    my $body = "Hello from PSGI, process $$.\n";
    return [200, ['Content-Type' => 'text/plain; charset=utf-8', 'Content-Length' => length $body], [$body]];
}

# Delayed and streaming: the server calls this sub with a responder, and gets the body line by line.
sub stream {
    return sub {
        my ($respond) = @_;
        my $writer = $respond->([200, ['Content-Type' => 'text/plain; charset=utf-8', 'Cache-Control' => 'no-store', 'X-Accel-Buffering' => 'no']]);
        for my $line (1 .. 5) {
            $writer->write("line $line of 5\n");
            select undef, undef, undef, 0.2;
        }
        $writer->close;
    };
}

# An application's own 404: the server leaves the body of a PSGI response alone.
sub nothing {
    my ($env) = @_;
    my $path = $env->{PATH_INFO};
    utf8::decode($path);
    my $html = Demo::Page::html(
        title   => 'Nothing is here',
        root    => '/',
        content => '<h1>Nothing is here</h1><p class="lead">This application has no page <code>' . Demo::Page::escape($path) . '</code>.</p><p><a href="/psgi/">Back to the application</a></p>',
    );
    return [404, ['Content-Type' => 'text/html; charset=utf-8'], [Encode::encode('UTF-8', $html)]];
}

sub {
    my ($env) = @_;
    my $page = $PAGES{$env->{PATH_INFO}} // \&nothing;
    return $page->($env);
};
