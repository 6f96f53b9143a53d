#!/usr/bin/perl
# Tests `plackup -s Mehari`: it serves plackup's application and passes the whole
# Plack::Test::Suite.

use strict;
use warnings;
use FindBin;
use HTTP::Tiny;
use IO::Socket::INET;
use Test::More;

BEGIN { require "$FindBin::Bin/psgi.pl" }
program() or plan skip_all => 'the program mehari is not built';
eval { require Plack::Test::Suite } or plan skip_all => 'Plack is not installed';

my @HERE = ('--listen', '127.0.0.1:0');

sub folders { my %folders = map { $_ => 1 } glob +($ENV{TMPDIR} || '/tmp') . '/mehari-????????/keeper'; return \%folders }

subtest 'application file is served with the options of plackup' => sub {
    my $server = Server->start(app => 'sub { [200, [], ["$ENV{PLACK_ENV} $Carried::text"]] }', plackup => [@HERE, '-E', 'staging', '-I', 'lib', '-M', 'Carried', 'app.psgi'],
        files => { 'lib/Carried.pm' => 'package Carried; our $text = "carried"; 1;' });
    is $server->get('/'), 'staging carried';
    is $server->stop, 0;
};

subtest 'application on the command line is served with its middleware' => sub {
    my $server = Server->start(plackup => [@HERE, '--workers', 2, '-e', 'enable "Runtime"; sub { [200, [], ["from -e"]] }']);
    my ($status, $body, $headers) = $server->get('/');
    is $body, 'from -e';
    ok $headers->{'x-runtime'}, 'Plack::Middleware::Runtime was there';
};

subtest 'access lines of plackup are no errors' => sub {
    my $server = Server->start(plackup => [@HERE, '-e', 'sub { [200, ["Content-Type" => "text/plain"], ["seen"]] }']);
    is $server->get('/seen'), 'seen';
    ok $server->logged(qr{\[notice\].* "GET /seen HTTP/1\.1" 200 4}), 'plackup adds the middleware in development' or diag $server->log;
    unlike $server->log, qr{\[error\].*GET /seen}, 'no line is an error';
};

subtest 'application sees the environment of the caller' => sub {
    local $ENV{MEHARI_TEST_WORD} = 'here';
    my $server = Server->start(plackup => [@HERE, '-e', 'sub { [200, [], [$ENV{MEHARI_TEST_WORD}]] }']);
    is $server->get('/'), 'here';
};

subtest 'HUP starts new workers with the same application' => sub {
    my $server = Server->start(plackup => [@HERE, '-e', 'my $made = $$; sub { [200, [], ["$made $$"]] }']);
    my ($made, $worker) = split / /, $server->get('/');
    kill HUP => $server->{process};
    my ($made_after, $worker_after);
    for (1 .. 100) {
        ($made_after, $worker_after) = split / /, $server->get('/');
        last if $worker_after != $worker;
        select undef, undef, undef, 0.1;
    }
    isnt $worker_after, $worker;
    is $made_after, $made;
};

subtest 'nothing is left when the server ends' => sub {
    my $before = folders();
    my $server = Server->start(plackup => [@HERE, '-e', 'sub { [200, [], ["$$"]] }']);
    my $worker = $server->get('/');
    my ($new) = grep { !$before->{$_} } keys %{ folders() };
    ok $new, 'the keeper listens while the server runs';
    is $server->stop, 0;
    for (1 .. 100) {
        last unless -e $new || kill 0, $worker;
        select undef, undef, undef, 0.1;
    }
    ok !-e $new, 'its folder is gone';
    ok !kill(0, $worker), 'the worker is gone';
};

subtest 'unknown option is refused, and the message lists the options' => sub {
    my $errors = qx($^X -I$FindBin::Bin/../lib -S plackup -s Mehari --max-request 5 -e 'sub { }' 2>&1);
    isnt $?, 0;
    like $errors, qr/Plack::Handler::Mehari has no option `max_request`; it has access_log, .*max_requests/;
    $errors = qx($^X -I$FindBin::Bin/../lib -S plackup -s Mehari --max-requests few -e 'sub { }' 2>&1);
    like $errors, qr/max_requests is `few`; expected a number/;
};

subtest 'Plack::Test::Suite' => sub {
    local $ENV{MEHARI_BIN} = program();
    local $ENV{NO_PROXY} = '127.0.0.1';
    Plack::Test::Suite->run_server_tests('Mehari');
};

done_testing;
