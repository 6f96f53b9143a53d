#!/usr/bin/perl
# Runs the whole Plack::Test::Suite against a server that is already up with app.psgi:
#     perl suite.pl 127.0.0.1:8080 http1|http2
# Prints TAP, one subtest for each test of the suite.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Mehari::Test::Curl;
use Plack::LWPish;
use Plack::Test::Suite;
use Test::More;

my ($address, $protocol) = @ARGV;
my %agent = (
    http1 => sub { Plack::LWPish->new(no_proxy => ['127.0.0.1'], timeout => 20) },
    http2 => sub { Mehari::Test::Curl->new },
);
die "usage: suite.pl HOST:PORT http1|http2\n" unless $address && $agent{ $protocol || '' };
my ($port) = $address =~ /:(\d+)$/ or die "suite.pl: no port in $address\n";

my $agent = $agent{$protocol}->();
for my $number (0 .. $#Plack::Test::Suite::TEST) {
    my ($name, $client) = @{ $Plack::Test::Suite::TEST[$number] };
    subtest $name => sub {
        $client->(sub {
            my $request = shift;
            $request->uri->port($port);
            $request->header('X-Plack-Test' => $number);
            return $agent->request($request);
        });
    };
}
done_testing(scalar @Plack::Test::Suite::TEST);
