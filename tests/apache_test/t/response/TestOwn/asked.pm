package TestOwn::asked;

# What else suites ask about the server, its modules and its log.

use strict;
use warnings FATAL => 'all';
use Apache::Test;
use Apache::TestUtil;
use Apache2::Access     ();
use Apache2::Command    ();
use Apache2::Connection ();
use Apache2::Log        ();
use Apache2::Module     ();
use Apache2::MPM        ();
use Apache2::RequestRec ();
use Apache2::ServerRec  ();
use Apache2::ServerUtil ();
use Apache2::URI ();
use APR::Pool    ();
use APR::URI     ();
use Apache2::Const -compile => qw(OK :mpmq :log ITERATE OR_ALL);

sub handler {
    my $r = shift;
    plan $r, tests => 15;

    ok t_cmp(Apache2::MPM->query(Apache2::Const::MPMQ_IS_FORKED), Apache2::Const::MPMQ_DYNAMIC, 'workers come and go');
    ok t_cmp(Apache2::MPM->query(Apache2::Const::MPMQ_IS_THREADED), Apache2::Const::MPMQ_NOT_SUPPORTED, 'no threads');
    ok t_cmp(Apache2::MPM->query(72), undef, 'no such question');
    ok Apache2::ServerUtil::exists_config_define('MODPERL2');
    ok !Apache2::ServerUtil::exists_config_define('NO_SUCH_NAME');

    my $command = Apache2::Module::find_linked_module('mod_perl.c')->cmds;
    ok $command->isa('Apache2::Command');
    $command = $command->next while $command && $command->name ne 'PerlResponseHandler';
    ok t_cmp($command->args_how, Apache2::Const::ITERATE, 'one after the other');
    ok t_cmp($command->errmsg, qr/Subroutine name/, 'what it takes');
    ok t_cmp($command->req_override, Apache2::Const::OR_ALL, 'everywhere');

    my $s = $r->server;
    my $level = $s->loglevel(Apache2::Const::LOG_INFO);
    $s->log->debug(sub { die 'nobody wants to know' });
    ok 1;
    $s->loglevel(Apache2::Const::LOG_DEBUG);
    $s->log->debug(sub { ok 1; 'somebody does' });
    $s->loglevel($level);

    my $new = Apache2::RequestRec->new($r->connection, $r->pool);
    $new->parse_uri('/some/path?query#fragment');
    ok t_cmp($new->parsed_uri->fragment, 'fragment', 'of a request made by hand');
    ok t_cmp($new->parsed_uri->unparse, '/some/path?query#fragment', 'in one');

    t_server_log_error_is_expected();
    ok t_cmp(($r->get_basic_auth_pw)[0] != Apache2::Const::OK, 1, 'no password is given');
    ok t_cmp($r->auth_type, 'Basic', 'what was asked for');
    return Apache2::Const::OK;
}

1;
