package TestOwn::config;

# The configuration as a handler sees it.

use strict;
use warnings FATAL => 'all';
use Apache::Test;
use Apache::TestUtil;
use Apache2::RequestRec ();
use Apache2::RequestUtil ();
use Apache2::ServerUtil ();
use Apache2::ServerRec ();
use Apache2::Directive ();
use Apache2::Module ();
use APR::Table ();
use Own::Trail ();
use Apache2::Const -compile => qw(OK OPT_EXECCGI OPT_SYM_LINKS OPT_INDEXES);
use Apache2::Access ();

sub handler {
    my $r = shift;
    plan $r, tests => 16;
    my $s = $r->server;
    ok t_cmp($s->dir_config('Documented'), 'yes', 'a line within Perl documentation');
    ok t_cmp([$s->dir_config->get('Many')], [qw(one two)], 'PerlAddVar');
    ok t_cmp($r->dir_config('Made') // 'none', $r->uri eq '/made' ? 'startup' : 'none', 'add_config of a start-up file');
    ok t_cmp($r->notes->get('init'), 'PerlPostReadRequestHandler', 'PerlInitHandler of the server');
    ok t_cmp($r->notes->get('pushed'), 'fixup', 'a handler pushed on the server while it started');
    ok t_cmp($main::child_init, $$, 'PerlChildInitHandler pushed there');
    ok t_cmp(Apache2::ServerUtil::exists_config_define('APACHE2'), 1, 'exists_config_define');
    ok t_cmp(Apache2::ServerUtil::exists_config_define('NEVER_DEFINED') || 0, 0, 'exists_config_define of nothing');
    ok t_cmp(Apache2::Module::loaded('mod_perl.c'), 1, 'Module::loaded');
    ok t_cmp(Apache2::Module::loaded('Apache2::Never.pm') || 0, 0, 'Module::loaded of nothing');
    my $tree = Apache2::Directive::conftree();
    ok t_cmp(ref $tree, 'Apache2::Directive', 'conftree');
    ok t_cmp(scalar $tree->lookup('DocumentRoot') =~ s/"//gr, $r->document_root, 'lookup');
    my $location = ($tree->lookup('Location', '/TestOwn__config'))[0];
    ok t_cmp($location->{SetHandler}, 'modperl', 'lookup of a section');
    ok t_cmp($location->{PerlResponseHandler}, 'TestOwn::config', 'and what is in it');
    my ($count, $node) = (0, $tree);
    while ($node) { $count++ if $node->directive eq '<Location'; $node = $node->next }
    ok $count > 3;
    ok t_cmp($r->allow_options & Apache2::Const::OPT_EXECCGI ? 1 : 0, 0, 'allow_options');
    return Apache2::Const::OK;
}
1;
