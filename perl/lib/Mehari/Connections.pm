package Mehari::Connections;

# Handlers of connections, where a worker is given requests: PerlPreConnectionHandler runs before the first request of
# a connection that this worker sees, PerlProcessConnectionHandler cannot run.

use strict;
use warnings;
use Apache2::Connection ();
use Apache2::Const      ();
use Mehari::Handler     ();

sub before {
    my ($r, @handlers) = @_;
    my $c = $r->connection;
    my $seen = $c->{noted}{'seen before'}++;
    return Apache2::Const::OK() if $seen;
    for my $handler (@handlers) {
        my ($code, @invocant) = @{ Mehari::Handler::resolve($handler) };
        my $answer = $code->(@invocant, $c);
        return Apache2::Const::FORBIDDEN() unless defined $answer && ($answer == Apache2::Const::OK() || $answer == Apache2::Const::DECLINED());
    }
    return Apache2::Const::OK();
}

sub instead {
    my ($r, @handlers) = @_;
    $r->log_error("PerlProcessConnectionHandler @handlers: the server owns connections and speaks HTTP on them; expected a PerlResponseHandler");
    return Apache2::Const::HTTP_NOT_IMPLEMENTED();
}

1;
