# Tests Mehari::State::Redis::Connection with all kinds of replies. Some invalid replies would take
# much memory or time; they are refused early.

use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use IO::Socket::UNIX ();
use POSIX ();
use Mehari::State::Redis::Connection ();

my $folder = tempdir(CLEANUP => 1);

# Returns the result of a call to a server that answers the first command of a connection with a
# number and the second command with `$said`.
sub ask {
    my ($said) = @_;
    my $path = "$folder/" . ++our $count;
    my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 5) or die "$path: $!";
    my $server = fork // die "fork: $!";
    unless ($server) {
        $SIG{PIPE} = 'IGNORE';
        for (1 .. 2) { # after a closed connection, the client connects once more
            my $client = $listener->accept or last;
            sysread $client, my $asked, 4096;
            syswrite $client, ":1\r\n";
            sysread $client, $asked, 4096;
            my $sent = 0;
            while ($sent < length $said) { $sent += syswrite($client, $said, length($said) - $sent, $sent) // last }
            last unless $said eq '';
        }
        POSIX::_exit(0);
    }
    close $listener;
    my $reply = eval { [Mehari::State::Redis::Connection->new("unix://$path")->call('PING')] };
    my $problem = $@;
    kill 'KILL', $server;
    waitpid $server, 0;
    return $reply ? $reply->[0] : \$problem;
}

is ask("+PONG\r\n"), 'PONG', 'a word';
is ask(":-7\r\n"), -7, 'a number';
is ask("\$3\r\na\r\n\r\n"), "a\r\n", 'a string with the end of a line in it';
is ask("\$-1\r\n"), undef, 'undef';
is_deeply ask("*2\r\n\$1\r\na\r\n*1\r\n:2\r\n"), ['a', [2]], 'a list in a list';
is ${ ask("-ERR no\r\n") }, 'ERR no', 'an error of the server';

my @strange = (
    ['another protocol' => "HTTP/1.1 400 Bad Request\r\n\r\n"],
    ['an invalid number' => ":one\r\n"],
    ['a string longer than the limit of Redis' => "\$9999999999\r\nabc"],
    ['a string longer than its stated length' => "\$1\r\nabc\r\n"],
    ['a list of billions' => "*9999999999\r\n"],
    ['endless nested lists' => "*1\r\n" x 10_000],
    ['an endless line' => 'x' x 200_000],
    ['more replies than commands' => "+PONG\r\n+PONG\r\n"],
);
for my $case (@strange) {
    my ($name, $said) = @$case;
    my $reply = ask($said);
    like ref $reply eq 'SCALAR' ? $$reply : 'taken for a reply', qr/\AMehari::State: Redis at \S+ sent an invalid reply\n\z/, $name;
}
like ${ ask('') }, qr/closed the connection/, 'no reply';

# Calls a server whose reply never ends: `$first`, then `$piece` again and again. Returns the error.
sub drip {
    my ($first, $piece) = @_;
    my $path = "$folder/" . ++our $count;
    my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 5) or die "$path: $!";
    my $server = fork // die "fork: $!";
    unless ($server) {
        local $SIG{ALRM} = 'DEFAULT';
        alarm 60;
        my $client = $listener->accept or POSIX::_exit(1);
        sysread $client, my $asked, 4096;
        syswrite $client, ":1\r\n";
        sysread $client, $asked, 4096;
        syswrite $client, $first;
        while (syswrite $client, $piece) { select undef, undef, undef, 0.02 }
        POSIX::_exit(0);
    }
    close $listener;
    eval { Mehari::State::Redis::Connection->new("unix://$path", patience => 0.5)->call('PING') };
    my $problem = $@;
    kill 'KILL', $server;
    waitpid $server, 0;
    return $problem;
}

$SIG{ALRM} = sub { die "it goes on for ever\n" };
for my $case (['a line' => '+', 'x'], ['a string' => "\$100000000\r\n", 'x'], ['a list' => "*9000000\r\n", ":1\r\n"]) {
    my ($name, $first, $piece) = @$case;
    alarm 60;
    like drip($first, $piece), qr/\AMehari::State: Redis at \S+ gives no whole answer within 0\.5 seconds\n\z/, "$name bit by bit";
    alarm 0;
}

done_testing;
