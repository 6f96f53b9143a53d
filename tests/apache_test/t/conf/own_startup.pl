# Does what the start-up files of suites do: asks who runs them, loads modules, adds configuration.
use strict;
use warnings FATAL => 'all';

die '$ENV{MOD_PERL} is not set' unless $ENV{MOD_PERL};
die 'the API is not version 2' unless $ENV{MOD_PERL_API_VERSION} == 2;

use Apache2::ServerUtil ();
use Apache2::ServerRec ();
use Apache2::Process ();
use APR::Pool ();
use Apache2::Log ();
use ModPerl::Util ();

my $server = Apache2::ServerUtil->server;
my $pool   = $server->process->pool;
my $root   = Apache2::ServerUtil::server_root_relative($pool, 'conf');
die "server_root_relative: $root" unless $root eq Apache2::ServerUtil::server_root() . '/conf';

$server->add_config([
    '<Location /made>',
    'SetHandler modperl',
    'PerlResponseHandler TestOwn::config',
    'PerlSetVar Made startup',
    '</Location>',
]);
$server->push_handlers(PerlChildInitHandler => sub { $main::child_init = $$; 0 });
$server->push_handlers(PerlFixupHandler => sub { my $r = shift; $r->notes->set(pushed => 'fixup'); 0 });
$server->add_version_component('Own/1.0');
$server->log->info('own_startup.pl has run');
Apache2::ServerRec::warn('a warning of own_startup.pl');
die 'the server starts for the first time only' if Apache2::ServerUtil::restart_count() < 1;

END { warn "own_startup.pl ends\n" if $ENV{OWN_SAYS_ITS_END} }

1;
