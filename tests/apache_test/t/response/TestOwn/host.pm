package TestOwn::host;

# The settings of a virtual host.

use strict;
use warnings FATAL => 'all';
use Apache::Test;
use Apache::TestUtil;
use Apache2::RequestRec ();
use Apache2::RequestUtil ();
use Apache2::ServerRec ();
use Apache2::ServerUtil ();
use Apache2::Connection ();
use APR::Table ();
use Apache2::Const -compile => 'OK';

sub handler {
    my $r = shift;
    plan $r, tests => 6;
    my $s = $r->server;
    ok t_cmp($s->is_virtual, 1, 'is_virtual');
    ok t_cmp($r->dir_config('Host'), 'own', 'dir_config');
    ok t_cmp($s->dir_config('Documented'), 'yes', "the main server's variable");
    ok t_cmp($s->port, $r->get_server_port, 'port');
    ok t_cmp($r->document_root =~ m{/htdocs/files\z} ? 1 : 0, 1, 'document_root');
    ok t_cmp(Apache2::ServerUtil->server->is_virtual, 0, 'the main server is none');
    return Apache2::Const::OK;
}
1;
