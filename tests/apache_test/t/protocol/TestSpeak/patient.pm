package TestSpeak::patient;

# Says how the socket waits with each setting, then answers each message in capitals.
use strict;
use warnings FATAL => 'all';
use Apache2::Connection ();
use APR::Error  ();
use APR::Pool   ();
use APR::Socket ();
use APR::Status ();
use Apache2::Const -compile => 'OK';
use APR::Const -compile => qw(SO_NONBLOCK SO_KEEPALIVE POLLIN TIMEUP SUCCESS EAGAIN);

sub handler {
    my Apache2::Connection $c = shift;
    my $socket = $c->client_socket;
    my @seen = (ref $c, ref $socket, $socket->opt_get(APR::Const::SO_NONBLOCK));
    push @seen, $socket->poll($c->pool, 20_000_000, APR::Const::POLLIN) == APR::Const::SUCCESS ? 'ready' : 'late';
    my $length = $socket->recv(my $first, 1024);
    push @seen, $length, uc $first =~ s/\s+\z//r;
    $socket->opt_set(APR::Const::SO_NONBLOCK, 1);
    push @seen, $socket->opt_get(APR::Const::SO_NONBLOCK);
    push @seen, $socket->poll($c->pool, 1000, APR::Const::POLLIN) == APR::Const::TIMEUP ? 'late' : 'ready';
    $socket->timeout_set(0);
    push @seen, eval { $socket->recv(my $none, 10); 1 } ? 'something' : APR::Status::is_EAGAIN($@) ? 'nothing' : "$@";
    $socket->timeout_set(1000);
    push @seen, eval { $socket->recv(my $none, 10); 1 } ? 'something' : $@ == APR::Const::TIMEUP ? 'late' : "$@";
    $socket->opt_set(APR::Const::SO_NONBLOCK, 0);
    push @seen, $socket->opt_get(APR::Const::SO_NONBLOCK);
    $socket->opt_set(APR::Const::SO_KEEPALIVE, 1);
    push @seen, $socket->opt_get(APR::Const::SO_KEEPALIVE), $socket->timeout_get;
    $socket->timeout_set(20_000_000);
    $socket->send("@seen\n");
    while ($socket->recv(my $text, 1024)) {
        last if $text =~ /\Aquit/;
        die "asked to\n" if $text =~ /\Adie/;
        $socket->send('never sent', 0);
        $socket->send(uc $text);
    }
    $socket->send("that was all of them", 9);
    return Apache2::Const::OK;
}

1;
