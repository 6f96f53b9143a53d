package TestOwn::edges;

# Edge cases: wrong objects, END blocks that are kept, exit within an eval, sockets, calls that are
# allowed only while the server starts.

use strict;
use warnings FATAL => 'all';
use Apache::Test;
use Apache::TestUtil;
use Apache2::RequestRec ();
use Apache2::RequestUtil ();
use Apache2::RequestIO ();
use Apache2::Connection ();
use Apache2::ServerRec ();
use Apache2::ServerUtil ();
use Apache2::Process ();
use APR::Pool ();
use APR::Table ();
use APR::Socket ();
use APR::Brigade ();
use APR::Bucket ();
use ModPerl::Global ();
use ModPerl::Util ();
use ModPerl::Const -compile => 'EXIT';
use Apache2::Const -compile => qw(OK);

our @ends;

sub handler {
    my $r = shift;
    plan $r, tests => 30;
    my ($c, $s) = ($r->connection, $r->server);

    for my $self (bless({}, 'Apache2::RequestRec'), bless({}, 'No::Such'), {}) {
        my $name = ref $self eq 'HASH' ? 'unknown' : ref $self;
        eval { Apache2::RequestRec::uri($self) };
        ok t_cmp($@, qr/method `uri' invoked by a `$name' object with no `r' key!/, "no request: $name");
    }
    my $other = Apache2::RequestRec->new($c, $r->pool);
    ok $other->isa('Apache2::RequestRec');
    ok $other->connection->isa('Apache2::Connection');

    # The `END` blocks of packages are called and forgotten on demand.
    for my $name ('END', 'NoSuchList') {
        ModPerl::Global::special_list_call($name => 'No::Such');
        ModPerl::Global::special_list_clear($name => 'No::Such');
    }
    ModPerl::Global::special_list_register(END => __PACKAGE__);
    ModPerl::Global::special_list_clear(END => __PACKAGE__);
    @ends = ();
    eval 'END { push @ends, "one" } END { push @ends, "two" } 1' or die $@;
    ModPerl::Global::special_list_call(END => __PACKAGE__);
    ModPerl::Global::special_list_call(END => __PACKAGE__);
    ok t_cmp("@ends", 'one two one two', 'END blocks are called as often as one likes');
    ModPerl::Global::special_list_clear(END => __PACKAGE__);
    ModPerl::Global::special_list_call(END => __PACKAGE__);
    ok t_cmp(scalar @ends, 4, 'and are forgotten');

    eval { ModPerl::Util::exit() };
    ok t_cmp("$@", qr/^ModPerl::Util::exit: \(120000\) exit was called/, 'exit within an eval');
    ok ref $@ && $@ == ModPerl::EXIT;

    ok t_cmp(${^TAINT}, 1, 'taint');
    eval { ${^TAINT} = 0 };
    ok t_cmp($@, qr/read-only/, 'stays');
    { no warnings 'once'; ok t_cmp($Apache2::__T, 1, '$Apache2::__T'); eval { $Apache2::__T = 0 }; ok t_cmp($@, qr/read-only/, 'stays') }
    ok t_cmp(ModPerl::Util::current_perl_id(), qr/0x\w+/, 'current_perl_id');

    my $socket = $c->client_socket;
    ok $socket->isa('APR::Socket');
    my $before = $socket->timeout_get;
    $socket->timeout_set(30_000_000);
    ok t_cmp($socket->timeout_get, 30_000_000, 'timeout_set');
    $socket->timeout_set($before);
    ok $c->base_server->isa('Apache2::ServerRec');
    my $ip = $c->client_ip;
    $c->client_ip('10.10.10.255');
    ok t_cmp($c->client_ip, '10.10.10.255', 'client_ip is to be set');
    $c->client_ip($ip);
    my $brigade = APR::Brigade->new($r->pool, $c->bucket_alloc);
    $brigade->insert_tail(APR::Bucket->new($c->bucket_alloc, 'data'));
    ok t_cmp($brigade->flatten(my $data), 4, 'a brigade of the connection\'s');

    # The server's start is over.
    eval { Apache2::ServerUtil::server_shutdown_cleanup_register(sub { }) };
    ok t_cmp($@, qr/Can't run 'server_shutdown_cleanup_register' after server startup/, 'server_shutdown_cleanup_register');
    eval { $s->add_config(['ServerAdmin me@example.org']) };
    ok t_cmp($@, qr/after server startup/, 'add_config of a server');
    ok $s->method_register('OWNMETHOD');
    eval { Apache2::ServerUtil::server_root_relative() };
    ok $@;
    eval { Apache2::ServerUtil::server_root_relative(bless({}, 'No::Such'), 'conf') };
    ok t_cmp($@, qr/p is not of type APR::Pool/, 'server_root_relative of no pool');
    for my $pool ($r->pool, $c->pool, $s->process->pool, $s->process->pconf, APR::Pool->new) {
        ok t_cmp(Apache2::ServerUtil::server_root_relative($pool, 'conf'), Apache::Test::vars('serverroot') . '/conf', 'server_root_relative');
    }
    my $root = $r->document_root('/tmp/other');
    ok t_cmp($r->document_root($root), '/tmp/other', 'document_root is to be set');
    return Apache2::Const::OK;
}
1;
__END__
SetHandler perl-script
