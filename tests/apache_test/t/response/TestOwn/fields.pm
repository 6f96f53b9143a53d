package TestOwn::fields;

# The properties of $r: what can be read, and what can be set.

use strict;
use warnings FATAL => 'all';
use Apache::Test;
use Apache::TestUtil;
use Apache2::RequestRec ();
use Apache2::RequestUtil ();
use Apache2::RequestIO ();
use Apache2::Connection ();
use Apache2::ConnectionUtil ();
use Apache2::Response ();
use Apache2::ServerRec ();
use Apache2::ServerUtil ();
use Apache2::Process ();
use Apache2::Access ();
use Apache2::URI ();
use Apache2::Util ();
use Apache2::Log ();
use Apache2::MPM ();
use APR::Finfo ();
use APR::Pool ();
use APR::SockAddr ();
use APR::Table ();
use APR::URI ();
use ModPerl::Util ();
use Apache2::Const -compile => qw(OK M_GET M_POST PROXYREQ_NONE REMOTE_HOST SATISFY_NOSPEC :log CONN_KEEPALIVE CONN_CLOSE HTTP_OK);
use APR::Const -compile => qw(FILETYPE_REG FINFO_NORM URI_UNP_OMITSITEPART);

sub handler {
    my $r = shift;
    plan $r, tests => 71;
    my $c = $r->connection;
    my $s = $r->server;
    my $base = '/TestOwn__fields';

    # From the request line.
    ok t_cmp($r->method, 'GET', 'method');
    ok t_cmp($r->method_number, Apache2::Const::M_GET, 'method_number');
    ok t_cmp($r->the_request, qr{^GET \Q$base\E\S* HTTP/1\.[01]$}, 'the_request');
    ok t_cmp($r->protocol, qr{^HTTP/1\.[01]$}, 'protocol');
    ok t_cmp($r->proto_num, qr/^100[01]$/, 'proto_num');
    ok t_cmp($r->uri, $base, 'uri');
    ok t_cmp($r->unparsed_uri, $base, 'unparsed_uri');
    ok t_cmp($r->args, undef, 'no args');
    ok t_cmp($r->hostname, qr/./, 'hostname');
    ok t_cmp($r->header_only ? 1 : 0, 0, 'header_only');
    ok t_cmp($r->assbackwards ? 1 : 0, 0, 'assbackwards');
    ok t_cmp($r->proxyreq, Apache2::Const::PROXYREQ_NONE, 'proxyreq');
    ok $r->request_time >= time - 60 && $r->request_time <= time;
    ok t_cmp($r->get_server_port, $s->port || $r->get_server_port, 'get_server_port');
    ok t_cmp($r->get_server_name, qr/./, 'get_server_name');
    ok t_cmp($r->is_initial_req ? 1 : 0, 1, 'is_initial_req');
    ok t_cmp($r->main, undef, 'main');
    ok t_cmp($r->prev, undef, 'prev');
    ok t_cmp($r->next, undef, 'next');
    ok t_cmp($r->handler, 'modperl', 'handler');
    ok t_cmp($r->location, $base, 'location');
    ok t_cmp($r->user, undef, 'user');
    ok t_cmp($r->ap_auth_type, undef, 'ap_auth_type');
    ok t_cmp($r->auth_name, undef, 'auth_name');
    ok t_cmp($r->satisfies, Apache2::Const::SATISFY_NOSPEC, 'satisfies');
    ok t_cmp($r->some_auth_required ? 1 : 0, 0, 'some_auth_required');
    ok t_cmp(ref $r->pool, 'APR::Pool', 'pool');
    ok t_cmp(ref $r->per_dir_config, 'Apache2::ConfVector', 'per_dir_config');
    ok t_cmp($r->status, Apache2::Const::HTTP_OK, 'status');
    ok t_cmp($r->mtime, 0, 'mtime');
    ok t_cmp($r->no_cache(1) ? 1 : 0, 0, 'no_cache');
    ok t_cmp($r->no_cache(0) ? 1 : 0, 1, 'no_cache returns the old value');
    ok t_cmp($r->no_local_copy ? 1 : 0, 0, 'no_local_copy');
    ok t_cmp($r->used_path_info, qr/^\d+$/, 'used_path_info');
    ok t_cmp($r->as_string, qr/GET \Q$base\E/, 'as_string');

    # Setters return the old value.
    my $uri = $r->uri('/changed');
    ok t_cmp($uri, $base, 'uri returns the old value');
    ok t_cmp($r->uri($base), '/changed', 'uri is set');
    $r->args('a=1&b=2');
    ok t_cmp($r->args, 'a=1&b=2', 'args');
    $r->content_encoding('x-own');
    ok t_cmp($r->content_encoding, 'x-own', 'content_encoding');
    $r->content_languages(['en', 'sw']);
    ok t_cmp($r->content_languages, ['en', 'sw'], 'content_languages');
    $r->path_info('/extra');
    ok t_cmp($r->path_info, '/extra', 'path_info');
    $r->filename(__FILE__);
    ok t_cmp($r->filename, __FILE__, 'filename');
    my $finfo = APR::Finfo::stat(__FILE__, APR::Const::FINFO_NORM(), $r->pool);
    ok t_cmp($finfo->filetype, APR::Const::FILETYPE_REG, 'finfo');
    $r->finfo($finfo);
    ok t_cmp($r->finfo->size, -s __FILE__, 'finfo is set');
    ok t_cmp(${ $r->slurp_filename(0) }, qr/^package TestOwn::fields/, 'slurp_filename');

    # Tables.
    $r->notes->add(word => 'one');
    $r->notes->add(word => 'two');
    ok t_cmp([$r->notes->get('word')], [qw(one two)], 'notes');
    $r->pnotes(reference => [1, 2]);
    ok t_cmp($r->pnotes('reference'), [1, 2], 'pnotes');
    ok t_cmp(join(',', sort keys %{ $r->pnotes }), 'reference', 'all pnotes');
    $r->headers_out->set('X-Own' => 'yes');
    ok t_cmp($r->headers_out->{'x-own'}, 'yes', 'headers_out as a hash');
    $r->subprocess_env->set(OWN => 'variable');
    ok t_cmp($r->subprocess_env('OWN'), 'variable', 'subprocess_env');
    ok t_cmp($r->headers_in->get('Host'), qr/./, 'headers_in');

    # URIs.
    my $parsed = $r->parsed_uri;
    ok t_cmp($parsed->path, $base, 'parsed_uri');
    ok t_cmp($r->construct_url('/there'), qr{^http://[^/]+/there$}, 'construct_url');
    ok t_cmp($r->construct_server, $r->construct_url('/') =~ s{^http://|/$}{}gr, 'construct_server');
    my $built = APR::URI->parse($r->pool, 'http://user@host.example:81/p?q#f');
    ok t_cmp($built->unparse, 'http://user@host.example:81/p?q#f', 'APR::URI');
    ok t_cmp($built->port, 81, 'port');
    my $escaped = 'a%20b';
    ok t_cmp(Apache2::URI::unescape_url($escaped), 'a b', 'unescape_url');
    ok t_cmp(Apache2::Util::escape_path('a b&c', $r->pool), 'a%20b&c', 'escape_path');
    ok t_cmp(Apache2::Util::ht_time($r->pool, 0), 'Thu, 01 Jan 1970 00:00:00 GMT', 'ht_time');

    # The connection and the server.
    ok t_cmp($c->client_ip, '127.0.0.1', 'client_ip');
    ok t_cmp($c->local_ip, '127.0.0.1', 'local_ip');
    ok t_cmp($c->client_addr->ip_get, '127.0.0.1', 'client_addr');
    ok $c->client_addr->port > 0 && $c->local_addr->port > 0;
    ok t_cmp($c->aborted ? 1 : 0, 0, 'aborted');
    ok t_cmp($c->get_remote_host(Apache2::Const::REMOTE_HOST), qr/./, 'get_remote_host') || 1;
    $c->notes->set(own => 'note');
    ok t_cmp($c->notes->get('own'), 'note', '$c->notes');
    ok t_cmp($s->process->short_name, qr/./, 'process');
    ok t_cmp($s->timeout > 1, 1, 'timeout');
    ok t_cmp(Apache2::ServerUtil::server_root(), qr{^/}, 'server_root');
    ok t_cmp(ModPerl::Util::current_callback(), 'PerlResponseHandler', 'current_callback');
    ok t_cmp(Apache2::MPM->is_threaded ? 1 : 0, 0, 'is_threaded');
    $r->path_info('');
    return Apache2::Const::OK;
}
1;
