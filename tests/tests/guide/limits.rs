//! Tests the guide's limits: the size of a worker, the resources of its process, and concurrent
//! requests. Also tests kept connections.

use crate::ONE_WORKER;
use mehari_harness::scripts::{nap, plain, simple, APACHE_REGISTRY};
use mehari_harness::{eventually, Request, Rung, Server, PATIENCE};

#[test]
fn worker_over_its_size_ends_after_its_request() {
    const GROWS: &str = "our $kept .= 'x' x 50_000_000 if $ENV{QUERY_STRING} eq 'grow'; print $$;";
    let server = Server::builder()
        .file("scripts/grows.pl", &plain(GROWS))
        .conf(ONE_WORKER)
        .conf(APACHE_REGISTRY)
        .conf(
            "PerlFixupHandler Apache::SizeLimit\n<Perl>\nuse Apache::SizeLimit;\n\
               Apache::SizeLimit->setmax(80_000);\n\
               $Apache::SizeLimit::CHECK_EVERY_N_REQUESTS = 1;\n</Perl>\n",
        )
        .start();
    let first = server.get("/perl/grows.pl?stay").expect(200);
    assert_eq!(server.get("/perl/grows.pl?stay").expect(200), first);
    assert_eq!(server.get("/perl/grows.pl?grow").expect(200), first);
    server.log.expect("is over 80000");
    let mut now = String::new();
    let is_another = eventually(PATIENCE, || {
        now = server.get("/perl/grows.pl?stay").expect(200);
        now != first
    });
    assert!(is_another, "{now}");
}

#[test]
fn script_sets_the_limits_of_its_own_worker() {
    let grows = |set: &str| {
        let script = format!(
            "our $kept .= 'x' x 50_000_000, {set} if $ENV{{QUERY_STRING}} eq 'grow'; print $$;"
        );
        Server::builder()
            .file("scripts/grows.pl", &plain(&script))
            .conf(ONE_WORKER)
            .conf(APACHE_REGISTRY)
            .conf("PerlModule Apache::GTopLimit Apache::SizeLimit\n")
            .start()
    };
    for set in [
        "Apache::GTopLimit->set_max_size(60_000)",
        "Apache::GTopLimit->set_min_shared_size(1_000_000)",
        "Apache::SizeLimit->setmax(60_000)",
        "Apache::SizeLimit::setmax(60_000)",
        "$Apache::GTopLimit::DEBUG = $Apache::GTopLimit::MAX_PROCESS_SIZE = 60_000, Apache2::SizeLimit->add_cleanup_handler(Apache->request)",
    ] {
        let server = grows(set);
        let first = server.get("/perl/grows.pl?stay").expect(200);
        assert_eq!(server.get("/perl/grows.pl?grow").expect(200), first, "{set}");
        let is_another = eventually(PATIENCE, || {
            server.get("/perl/grows.pl?stay").expect(200) != first
        });
        assert!(is_another, "{set}: {}", server.log.text());
        server.log.expect("Apache2::SizeLimit: the worker is replaced: s");
    }
}

#[test]
fn worker_has_the_limits_it_was_given() {
    const SHOWS: &str = "open my $in, '<', '/proc/self/limits' or die $!;\n\
        print grep { /^Max (cpu time|core file size|address space)/ } <$in>;";
    let server = Server::builder()
        .file("scripts/limits.pl", &plain(SHOWS))
        .conf(ONE_WORKER)
        .conf(APACHE_REGISTRY)
        .conf("<Perl>\n$Apache::Resource::Debug = 1;\nrequire Apache::Resource;\n</Perl>\n\
               PerlSetEnv PERL_RLIMIT_CPU 120\nPerlSetEnv PERL_RLIMIT_CORE 0\nPerlSetEnv PERL_RLIMIT_AS 67108864\n\
               PerlModule Apache::Resource\nPerlChildInitHandler Apache::Resource\n")
        .start();
    let page = server.get("/perl/limits.pl").expect(200);
    let limit = |name: &str| {
        let line = page.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name}: {page}"));
        line[name.len()..]
            .split_whitespace()
            .next()
            .map(str::to_owned)
    };
    assert_eq!(limit("Max cpu time").as_deref(), Some("120"), "{page}");
    assert_eq!(limit("Max core file size").as_deref(), Some("0"), "{page}");
    assert_eq!(
        limit("Max address space"),
        Some((67_108_864u64 << 20).to_string()),
        "{page}"
    );
}

#[test]
fn place_takes_so_many_requests_of_some_methods() {
    let server = simple(3)
        .conf("<Location \"/registry\">\n<Limit PUT GET POST>\nMaxConcurrentReqs 1\n</Limit>\n</Location>\n")
        .start();
    let (mut napping, _) = nap(&server, Rung::Registry, "x");
    server.get("/registry/hello.pl").expect(503);
    server.get("/perlrun/hello.pl").expect(200);
    napping.read_answer("GET").expect("an answer").expect(200);
    server.get("/registry/hello.pl").expect(200);
}

const LENGTH: &str = "my $r = shift; my $text = 'twelve bytes'; $r->content_type('text/plain'); \
    $r->header_out('Content-Length', length $text); $r->send_http_header; print $text;";

#[test]
fn kept_connections_follow_the_configuration() {
    let site = |conf: &str| {
        Server::builder()
            .file("scripts/length.pl", LENGTH)
            .conf(ONE_WORKER)
            .conf(APACHE_REGISTRY)
            .conf(conf)
            .start()
    };
    let server = site("KeepAlive On\nMaxKeepAliveRequests 2\nKeepAliveTimeout 15\n");
    let mut connection = server.connect();
    for last in [false, true] {
        let answer = connection
            .send(&Request::get("/perl/length.pl"))
            .expect("an answer");
        assert_eq!(answer.expect(200), "twelve bytes");
        assert_eq!(answer.field("content-length").as_deref(), Some("12"));
        assert_eq!(answer.field("connection").as_deref() == Some("close"), last);
    }
    assert!(connection.send(&Request::get("/perl/length.pl")).is_err());
    let server = site("KeepAlive Off\n");
    let answer = server
        .connect()
        .send(&Request::get("/perl/length.pl"))
        .expect("an answer");
    assert_eq!(answer.field("connection").as_deref(), Some("close"));
}
