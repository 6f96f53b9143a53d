//! Tests scripts that start threads (threads.pm). They run on every rung, and a thread's copies of
//! the server's objects do no harm.

use mehari_harness::scripts::{plain, workers, HEADER, UNTIL_LET_GO};
use mehari_harness::{against_apache, needs, needs_machine, Builder, Request, Rung, Server};

const THREADS: &str = "use strict; use warnings; use threads; use threads::shared; $| = 1;\n";

fn script(body: &str) -> String {
    format!("{HEADER}{THREADS}{body}\n")
}

fn site(scripts: &[(&str, &str)]) -> Builder {
    let mut builder = Server::builder()
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .conf(&workers(1));
    for (name, body) in scripts {
        builder = builder.file(&format!("scripts/{name}.pl"), &script(body));
    }
    builder
}

/// Scripts whose threads print, return values, share variables, change their copies or read the
/// body.
const WORKS: &[(&str, &str)] = &[
    ("answers", "my @t = map { my $n = $_; threads->create(sub { $n * 10 }) } 1 .. 4; print join ',', map { $_->join } @t;"),
    ("prints", "print 'a'; threads->create(sub { print 'b' })->join; print 'c'; async { printf '%s', 'd' }->join; print 'e';"),
    ("shares", "my $n :shared = 1; $_->join for map { async { lock $n; $n += 5 } } 1 .. 3; print $n;"),
    ("copies", "our %h = (a => 1); threads->create(sub { $h{a} = 2; $ENV{QUERY_STRING} = 'x'; @ARGV = 1 })->join; print $h{a}, $ENV{QUERY_STRING} // '', scalar @ARGV;"),
    ("dies", "my $t = threads->create(sub { die qq{in a thread\\n} }); $t->join; print $t->error // 'none';"),
    ("loads", "print threads->create(sub { require POSIX; require List::Util; POSIX::floor(2.5) . eval '1 + 1' })->join;"),
    ("closes", "use POSIX (); my $t = threads->create(sub { POSIX::close(POSIX::open('/dev/null')); POSIX::nice(0); 'closed' }); print $t->join;"),
    ("starts", "threads->create(sub { system 'echo from a child' })->join; print threads->create(sub { `echo back` })->join;"),
    ("nests", "print threads->create(sub { threads->create(sub { 'inner' })->join . ' outer' })->join;"),
    ("reads", "print threads->create(sub { scalar <STDIN> })->join;"),
];

const ANSWERS: &[(&str, &str)] = &[
    ("answers", "10,20,30,40"),
    ("prints", "abcde"),
    ("shares", "16"),
    ("copies", "1n=10"),
    ("dies", "in a thread\n"),
    ("loads", "22"),
    ("closes", "closed"),
    ("starts", "from a child\nback\n"),
    ("nests", "inner outer"),
    ("reads", "first line\n"),
];

#[test]
fn threads_of_a_script_run_on_every_rung() {
    needs_machine!(needs::perl_has_threads(), "the perl has no threads");
    let server = site(WORKS).start();
    for rung in Rung::ALL {
        for _ in 0..3 {
            for (name, expected) in ANSWERS {
                let url = format!("{}?n=1", rung.url(&format!("{name}.pl")));
                let answer = server.send(&Request::post(&url, "first line\nsecond\n"));
                assert_eq!(answer.expect(200), *expected, "{name} on {rung:?}");
                let next = server.get(&rung.url("hello.pl"));
                assert_eq!(next.expect(200), "Hello", "after {name} on {rung:?}");
            }
        }
    }
    assert_eq!(server.log.count("was ended by"), 0, "{}", server.log.text());
}

#[test]
fn only_the_thread_that_serves_the_request_may_use_it() {
    needs_machine!(needs::perl_has_threads(), "the perl has no threads");
    let module = r#"
package Threaded;
use strict; use warnings; use threads; use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::RequestUtil (); use APR::Table ();
sub handler {
    my $r = shift;
    my $table = $r->headers_in;
    $table->set('X-Own', 'mine');
    my $thread = threads->create(sub {
        my @said = map { eval { $_->(); 1 } ? 'did' : 'refused' }
            sub { $r->print('from a thread') }, sub { $r->headers_out->set(a => 1) }, sub { Apache2::RequestUtil->request };
        $table->set('X-Own', 'of the thread');
        $table->add('X-More', $_) for 1 .. 100;
        return join ' ', @said, $table->get('X-Own'), $table->{'X-More'};
    });
    my $said = $thread->join;
    $r->content_type('text/plain');
    $r->print($said, ' ', $table->get('X-Own'), ' ', defined $table->get('X-More') ? 'more' : 'no more');
    return 0;
}
1;
"#;
    let server = site(&[])
        .file("lib/Threaded.pm", module)
        .conf("PerlSwitches -I@ROOT@/lib\n<Location /threaded>\n    SetHandler modperl\n    PerlResponseHandler Threaded\n</Location>\n")
        .start();
    if against_apache() {
        return;
    }
    for _ in 0..5 {
        let answer = server.get("/threaded");
        let expected = "refused refused refused of the thread 1 mine no more";
        assert_eq!(answer.expect(200), expected, "{}", server.log.text());
    }
}

#[test]
fn worker_with_a_thread_that_outlives_its_request_is_replaced() {
    needs_machine!(needs::perl_has_threads(), "the perl has no threads");
    let left =
        format!("threads->create(sub {{ {UNTIL_LET_GO}; print 'late' }})->detach; print 'left';");
    let server = site(&[("left", &left)]).start();
    for rung in [Rung::Registry, Rung::PerlRun] {
        let before = server.workers();
        assert_eq!(server.get(&rung.url("left.pl")).expect(200), "left");
        server.log.expect("left a thread running");
        for _ in 0..3 {
            assert_eq!(server.get(&rung.url("hello.pl")).expect(200), "Hello");
        }
        assert_ne!(server.workers(), before, "{rung:?}");
    }
    for rung in [Rung::Cgi, Rung::Fork, Rung::Auto] {
        assert_eq!(server.get(&rung.url("left.pl")).expect(200), "left");
        assert_eq!(server.get(&rung.url("hello.pl")).expect(200), "Hello");
    }
}

#[test]
fn application_may_start_threads() {
    needs_machine!(needs::perl_has_threads(), "the perl has no threads");
    let application = "use threads; sub { my $env = shift; \
        my $read = threads->create(sub { my $line = readline $env->{'psgi.input'}; defined $line ? $line : 'nothing' })->join; \
        my $sum = 0; $sum += $_->join for map { my $n = $_; threads->create(sub { $n }) } 1 .. 3; \
        [200, ['Content-Type', 'text/plain'], [qq{$sum $read }, readline $env->{'psgi.input'}]] }";
    let large = "long ".repeat(100_000);
    let server = Server::builder()
        .file("scripts/threads.psgi", application)
        .conf("<Location />\n    SetHandler psgi\n    PSGIApp @ROOT@/scripts/threads.psgi\n</Location>\n")
        .conf(&workers(1))
        .start();
    for _ in 0..5 {
        let answer = server.send(&Request::post("/", "the body"));
        assert_eq!(answer.expect(200), "6 the body the body");
        let answer = server.send(&Request::post("/", large.as_str()));
        assert_eq!(answer.expect(200), format!("6 {large} {large}"));
    }
}

/// As in perl, `exit` in a thread ends the program. On a shared rung the worker is the program.
#[test]
fn exit_in_a_thread_ends_no_request_but_its_own() {
    needs_machine!(needs::perl_has_threads(), "the perl has no threads");
    let exits = "threads->create(sub { exit 3 })->join; print 'not reached';";
    let server = site(&[("exits", exits)]).start();
    for rung in Rung::ALL {
        let answer = server.get(&rung.url("exits.pl"));
        assert!(!answer.text().contains("not reached"), "{rung:?}");
        assert_eq!(server.get(&rung.url("hello.pl")).expect(200), "Hello");
    }
}
