package Mehari::Test::Curl;
# A user agent that speaks cleartext HTTP/2 with prior knowledge through curl.
# It dies if the answer used another protocol.
use strict;
use warnings;
use File::Temp ();
use HTTP::Response;
use HTTP::Status ();

sub new { return bless {}, shift }

sub request {
    my ($self, $request) = @_;
    my $sent = File::Temp->new;
    my $head = File::Temp->new;
    my $body = File::Temp->new;
    binmode $sent;
    print $sent $request->content;
    close $sent;
    my @command = (
        qw(curl --silent --show-error --http2-prior-knowledge --path-as-is --globoff --max-time 20 --noproxy *),
        '--request', $request->method, '--dump-header', $head->filename, '--output', $body->filename,
    );
    push @command, '--data-binary', '@' . $sent->filename if length $request->content;
    # What curl would add by itself is sent only if the request has it.
    my %own = map { $_ => 1 } qw(accept user-agent content-type);
    $request->headers->scan(sub {
        my ($name, $value) = @_;
        delete $own{ lc $name };
        return if lc $name eq 'content-length' || lc $name eq 'host';
        push @command, '--header', $value eq '' ? "$name;" : "$name: $value";
    });
    push @command, '--header', "$_:" for sort keys %own;
    system(@command, $request->uri) == 0 or die "curl failed with status " . ($? >> 8) . "\n";
    return response($request, slurp($head->filename), slurp($body->filename));
}

sub response {
    my ($request, $head, $body) = @_;
    # Interim responses come first, each with its own block.
    my @blocks = grep { length } split /\r\n\r\n/, $head;
    my ($status_line, @fields) = split /\r\n/, $blocks[-1];
    my ($status) = $status_line =~ m{^HTTP/2 (\d{3})} or die "not HTTP/2: $status_line\n";
    my @pairs = map { /^([^:]+):\s*(.*)$/ ? ($1 => $2) : die "not a field: $_\n" } @fields;
    my $response = HTTP::Response->new($status, HTTP::Status::status_message($status), \@pairs, $body);
    $response->request($request);
    return $response;
}

sub slurp {
    my ($name) = @_;
    open my $file, '<:raw', $name or die "$name: $!\n";
    local $/;
    return scalar <$file>;
}

1;
