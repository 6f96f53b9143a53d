# Runs at the start, after the configuration was read.
use strict;
use warnings FATAL => 'all';
use Apache2::ServerRec ();
use Apache2::ServerUtil ();
use Apache2::Status ();
use Apache2::Module ();
use Apache2::Const -compile => qw(OK LOG_INFO);
use ModPerl::Util ();

my $s = Apache2::ServerUtil->server;
my $level = $s->loglevel(Apache2::Const::LOG_INFO);
$s->loglevel($level);
eval { require threads; threads->import; 1 } or die $@;
Apache2::ServerUtil::server_shutdown_cleanup_register sub { warn "the shutdown's last\n" };
Apache2::ServerUtil::server_shutdown_cleanup_register sub { die "on purpose\n" };
Apache2::Status->menu_item(own => 'Own entry', sub { my ($r) = @_; return ["what the own entry says"] }) if Apache2::Module::loaded('Apache2::Status');
$Own::Object::it = bless { greeting => 'of an object' }, 'Own::Object';
END { warn "END of own_post_config.pl\n" }
sub Own::Exit::handler { my ($pool, $s) = @_; $s->log->info("worker $$ ends"); return Apache2::Const::OK }
sub Own::AddConfig::handler { my $r = shift; $r->add_config(['require valid-user']); return Apache2::Const::OK }
1;
