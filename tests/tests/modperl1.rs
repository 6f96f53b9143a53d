//! Tests mod_perl 1: scripts and handlers of the guide and of Practical mod_perl run with their
//! calls unchanged.

use mehari_harness::scripts::APACHE_REGISTRY;
use mehari_harness::{eventually, Builder, Request, Server, PATIENCE};

const ONE_WORKER: &str =
    "StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nMaxRequestWorkers 1\n";

/// The configuration of the guide, word for word where possible.
const SITE: &str = "\
PerlSwitches -I@ROOT@/scripts/lib
PerlSetVar Log @ROOT@/logs/child
PerlModule Guide1::Handler
Alias /perlrun/ @ROOT@/scripts/
<Location /perlrun>
    SetHandler perl-script
    PerlHandler Apache::PerlRun
    Options ExecCGI
    Require all granted
</Location>
<Location /handler>
    SetHandler perl-script
    PerlHandler Guide1::Handler
    Require all granted
</Location>
<Location /dumpenv>
    SetHandler perl-script
    PerlHandler +Guide1::DumpEnv
    Require all granted
</Location>
<Location /api>
    SetHandler perl-script
    PerlHandler Guide1::Api
    Require all granted
</Location>
<Perl>
use Apache::RegistryLoader ();
Apache::RegistryLoader->new->handler('/perl/args.pl', '@ROOT@/scripts/args.pl');
Apache::RegistryLoader->new(trans => sub { '@ROOT@/scripts/' . ($_[0] =~ m{([^/]*)$})[0] })->handler('/perl/request.pl');
</Perl>
";

fn site() -> Builder {
    Server::builder()
        .fixtures("modperl1")
        .conf(ONE_WORKER)
        .conf(APACHE_REGISTRY)
        .conf(SITE)
}

/// Returns the guide's two query strings, of 25 and of 337 characters.
fn queries() -> [String; 2] {
    let query = |last: char| {
        let pairs: Vec<String> = ('a'..=last)
            .map(|name| format!("{name}={}", "e".repeat(10)))
            .collect();
        pairs.join("&")
    };
    let both = [query('b'), query('z')];
    assert_eq!(both.each_ref().map(String::len), [25, 337]);
    both
}

#[test]
fn three_ways_to_read_a_form_answer_the_same() {
    let server = site().start();
    for query in queries() {
        let expected = query.replace('&', "\n").replace('=', " => ");
        for place in ["perl", "perlrun"] {
            for script in ["args.pl", "request.pl", "cgi_pm.pl"] {
                for _ in 0..2 {
                    let answer = server.get(&format!("/{place}/{script}?{query}"));
                    assert_eq!(answer.expect(200), expected, "/{place}/{script}");
                    assert_eq!(answer.field("content-type").as_deref(), Some("text/plain"));
                }
            }
        }
    }
}

#[test]
fn handlers_of_the_books_answer() {
    let server = site().start();
    let answer = server.get("/handler");
    assert_eq!(answer.expect(200), "Hello");
    assert_eq!(answer.field("content-type").as_deref(), Some("text/html"));
    let text = server.get("/dumpenv?q=1").expect(200);
    assert!(text.contains("\nQUERY_STRING => q=1\n"), "{text}");
}

const API: &str = "\
Apache
isa Apache
header 1 1 1
constants 0 -1 404 302 200 400 500 2
html &lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;
uri /a%20b%3fc A+b a b!
time Sun, 06 Nov 1994 08:49:37 GMT 784111777   10k
parsed host 81 /path query
table 1+2
file package Guide1::Api;
tmpfile 4
cookie a=1+2 b=x
remote 127.0.0.1 127.0.0.1
server there not defined
notes value
content f=1 g=two words
";

#[test]
fn modules_of_mod_perl_1_work_as_before() {
    let server = site().start();
    let request = Request::form("/api", "f=1&g=two+words")
        .field("X-One", "1")
        .field("Cookie", "a=1&2; b=x");
    let answer = server.send(&request);
    assert_eq!(answer.expect(200), API);
    assert_eq!(answer.field("x-old").as_deref(), Some("way"));
    let cookie = answer.field("set-cookie").expect("it was baked");
    assert!(
        cookie.starts_with("mine=1&two+words; path=/; expires="),
        "{cookie}"
    );
    assert!(eventually(PATIENCE, || server
        .log
        .text()
        .contains("one line for the log")));
}

#[test]
fn scripts_run_in_their_own_folder() {
    let server = site().start();
    for _ in 0..2 {
        assert_eq!(
            server.get("/perl/folder.pl").expect(200),
            "found beside in its folder\n"
        );
    }
}

#[test]
fn every_form_of_exit_ends_the_script_and_not_the_worker() {
    let server = site().start();
    for how in ["function", "method", "plain"] {
        assert_eq!(
            server
                .get(&format!("/perl/leaves.pl?how={how}"))
                .expect(200),
            "before\n",
            "{how}"
        );
    }
    assert_eq!(
        server.get("/perl/leaves.pl?how=not").expect(200),
        "before\nafter\n"
    );
}

#[test]
fn child_that_detaches_goes_on_by_itself() {
    let server = site().leaves_processes().start();
    assert_eq!(
        server.get("/perl/proper_fork.pl").expect(200),
        "Parent has finished\n"
    );
    let log = server.site.path("logs/child");
    assert!(eventually(PATIENCE, || {
        std::fs::read_to_string(&log).is_ok_and(|text| text == "started\ncompleted\n")
    }));
    assert_eq!(server.get("/handler").expect(200), "Hello");
}

#[test]
fn environment_is_empty_when_it_is_switched_off() {
    let conf = "\
PerlSetupEnv Off
Alias /off/ @ROOT@/scripts/
<Location /off>
    SetHandler perl-script
    PerlHandler Apache::RegistryNG
    PerlSetEnv TEST hi
    Options +ExecCGI
    Require all granted
</Location>
";
    let server = site().conf(conf).start();
    let text = server.get("/off/setupenvoff.pl?q=1").expect(200);
    assert!(text.contains("TEST=hi"), "{text}");
    assert!(text.contains("MOD_PERL=mod_perl/"), "{text}");
    assert!(!text.contains("QUERY_STRING"), "{text}");
}
