package TestOwn::again;

# What the requests of a connection share. own/again.t asks three times on one connection.

use strict;
use warnings FATAL => 'all';
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::RequestUtil ();
use Apache2::Connection ();
use Apache2::ConnectionUtil ();
use Apache2::HookRun ();
use APR::Table ();
use Apache2::Const -compile => 'OK';

sub handler {
    my $r = shift;
    my $c = $r->connection;
    $r->content_type('text/plain');
    $c->notes->set(count => ($c->notes->get('count') || 0) + 1);
    push @{ $c->pnotes->{words} ||= [] }, $r->args;
    $r->print(join ' ', $c->keepalives, $c->notes->get('count'), @{ $c->pnotes('words') });
    if ($r->args eq 'three') {
        $r->push_handlers(PerlFixupHandler => sub { $_[0]->print(' fixup'); Apache2::Const::OK });
        $r->print(' ', $r->run_fixups);
    }
    return Apache2::Const::OK;
}

1;
