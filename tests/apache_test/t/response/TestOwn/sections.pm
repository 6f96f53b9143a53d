package TestOwn::sections;

# The values that <Perl> sections see and leave.

use strict;
use warnings FATAL => 'all';
use Apache::Test;
use Apache::TestUtil;
use Apache::TestRequest;
use Apache2::RequestRec ();
use Apache2::RequestUtil ();
use Apache2::ServerRec ();
use Apache2::PerlSections ();
use APR::Table ();
use Apache2::Const -compile => 'OK';

sub handler {
    my $r = shift;
    plan $r, tests => 23;
    ok t_cmp($Own::Sections::worked, 'yes', 'Perl in one line');
    ok t_cmp($Own::Sections::package, qr/\AApache2::ReadConfig::.*::conf::extra_last_conf::line_\d+\z/, 'its package');
    my %location = do { no strict 'refs'; %{"${Own::Sections::package}::Location"} };
    ok !exists $location{'/sections'};
    ok t_cmp($location{'/kept'}{AuthName}, 'Kept', 'what is saved');
    ok t_cmp($location{'/tied'}, 'TIED', 'a tied hash');
    ok t_cmp($Own::Sections::zero, qr/extra\.last\.conf/, '$0');
    ok t_cmp($Own::Sections::file, qr/extra\.last\.conf/, '__FILE__');
    ok $Own::Sections::line > 20;
    ok t_cmp($0, qr{apache2|mehari}, q($0 later));
    ok t_cmp($Own::Sections::included, 1, 'a section in a section');
    my $dump = Apache2::PerlSections->dump;
    ok t_cmp($dump, qr/__END__/, 'dump');
    eval "package TestOwn::sections::again;\nno strict;\n$dump";
    ok t_cmp($@, '', 'what it dumps compiles');
    { no warnings 'once'; ok t_cmp($TestOwn::sections::again::Include, qr/made_section\.conf/, 'and says the same'); }
    ok t_cmp($Own::Sections::main->port, Apache2::ServerUtil->server->port, 'Apache2::PerlSections->server');
    ok t_cmp($r->dir_config('First') // '', $r->uri eq '/sections' ? 1 : '', 'a variable of a section');
    ok t_cmp($r->server->dir_config('Hidden'), undef, 'Perl documentation');
    ok t_cmp($r->server->dir_config('PodOver'), 'yes', '=over apache');
    ok t_cmp($r->server->dir_config('PodCut'), 'yes', '=cut');
    for my $name (qw(own-perl-section by-read-config by-scalar by-list by-list-two)) {
        ok t_cmp(GET("/$name/plain.txt")->code, 200, $name);
    }
    return Apache2::Const::OK;
}
1;
