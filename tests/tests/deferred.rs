//! Tests deferred calls (`$r->after_response`), and that a client never waits for what runs after
//! its response.

use mehari_harness::scripts::{let_go, plain, workers};
use mehari_harness::{binary, eventually, needs, Builder, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;
use serde_json::Value;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// Subs that a worker calls later. `@ROOT@` is the folder of the site.
const LATER: &str = r#"package My::Later;
use strict;
use warnings;
use Time::HiRes ();

our $root = '@ROOT@';
sub note { open my $file, '>>', "$root/notes" or die $!; syswrite $file, "$_[0]\n" }
sub wait_for_go { for (1 .. 6_000) { last if -e "$root/htdocs/go"; Time::HiRes::sleep(0.01) } note("$_[0] $$") }
sub begin_and_wait { note("begun $_[0]"); wait_for_go($_[0]) }
sub keeps { note(join '|', map { shown($_) } @_) }
sub shown {
    my ($value) = @_;
    return '(' . join(',', map { shown($_) } @$value) . ')' if ref $value eq 'ARRAY';
    return '{' . join(',', map { "$_=" . shown($value->{$_}) } sort keys %$value) . '}' if ref $value;
    return defined $value ? length($value) . ':' . join '.', map { ord } split //, $value : 'undef';
}
sub breaks { die 'broken' }
sub kills { note("begun $_[0]"); kill KILL => $$; sleep 60 }
sub hangs { note("begun $_[0]"); 1 while 1 }
sub asks { my $r = eval { Apache2::RequestUtil->request }; note($@ =~ /Global \$r/ ? 'no request' : "request $@"); print "aside\n"; note("env $ENV{QUERY_STRING}") if defined $ENV{QUERY_STRING} }
sub again { Mehari::after_response('My::Later::note', 'again') }
1;
"#;

/// A handler that defers what the query names: `how=name` or `how=code`, and `sub`.
const HANDLER: &str = r#"package My::Handler;
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use APR::Pool ();
use My::Later ();
our $count = 0;
sub handler {
    my $r = shift;
    my %told = map { split /=/, $_, 2 } split /&/, $r->args // '';
    my $name = "My::Later::$told{sub}";
    $count++;
    my $is_taken = $told{how} eq 'code'
        ? $r->after_response(sub { no strict 'refs'; &$name(@_) }, $told{with} // 'code')
        : $r->after_response($name, $told{with} // 'name');
    $r->content_type('text/plain');
    $r->print($is_taken ? 'deferred' : 'refused', " $count");
    0;
}
1;
"#;

const CONF: &str = "PerlSwitches -I@ROOT@/lib\n\
    <Location /later>\n    SetHandler modperl\n    PerlResponseHandler My::Handler\n</Location>\n\
    <Location /metrics>\n    SetHandler metrics\n</Location>\n";

fn site(count: u32) -> Builder {
    let builder = Server::builder();
    let root = builder.folder_of(".").display().to_string();
    let root = root.trim_end_matches("/.");
    builder
        .file("lib/My/Later.pm", &LATER.replace("@ROOT@", root))
        .file("lib/My/Handler.pm", HANDLER)
        .file("htdocs/page", "page")
        .conf(&workers(count))
        .conf(CONF)
}

fn notes(server: &Server) -> Vec<String> {
    let text = std::fs::read_to_string(server.site.path("notes")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits until a note begins with the word. Returns the note.
#[track_caller]
fn noted(server: &Server, word: &str) -> String {
    let mut found = None;
    eventually(PATIENCE, || {
        found = notes(server).into_iter().find(|it| it.starts_with(word));
        found.is_some()
    });
    found.unwrap_or_else(|| panic!("no `{word}`: {:?}\n{}", notes(server), server.log.text()))
}

fn counts(server: &Server) -> Value {
    server.status()["pool"]["deferred"].clone()
}

/// Waits until the status has this count.
#[track_caller]
fn counted(server: &Server, what: &str, count: u64) {
    let is_so = eventually(PATIENCE, || counts(server)[what] == count);
    assert!(is_so, "{what}: {}\n{}", counts(server), server.log.text());
}

#[track_caller]
fn defer(server: &Server, query: &str) -> String {
    server.get(&format!("/later?{query}")).expect(200)
}

const APP: &str = r#"use My::Later;
sub {
    my $env = shift;
    push @{$env->{'psgix.cleanup.handlers'}}, sub { My::Later::wait_for_go('cleanup') };
    $env->{'mehari.after_response'}->(sub { My::Later::wait_for_go($_[0]) }, 'code');
    $env->{'mehari.after_response'}->('My::Later::wait_for_go', 'name');
    [200, ['Content-Type' => 'text/plain'], ['x' x 300_000]];
}
"#;

const BIG_SCRIPT: &str = "use My::Later; my $r = shift; print 'x' x 300_000;
    $r->pool->cleanup_register(sub { My::Later::wait_for_go('cleanup') });
    $r->after_response(sub { My::Later::wait_for_go($_[0]) }, 'code');
    $r->after_response('My::Later::wait_for_go', 'name');";

const BIG_HANDLER: &str = r#"package My::Big;
use My::Later;
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::RequestUtil ();
sub handler {
    my $r = shift;
    $r->push_handlers(PerlCleanupHandler => sub { My::Later::wait_for_go('cleanup'); 0 });
    $r->after_response(sub { My::Later::wait_for_go($_[0]) }, 'code');
    $r->after_response('My::Later::wait_for_go', 'name');
    $r->content_type('text/plain');
    $r->print('x' x 300_000);
    0;
}
1;
"#;

#[test]
fn client_has_its_whole_response_before_cleanups_and_deferred_calls_end() {
    needs!("curl");
    let server = site(4)
        .file("app.psgi", APP)
        .file("lib/My/Big.pm", BIG_HANDLER)
        .file("scripts/big.pl", &plain(BIG_SCRIPT))
        .ladder()
        .conf(
            "<Location /app>\n    SetHandler psgi\n    PSGIApp @ROOT@/app.psgi\n</Location>\n\
             <Location /big>\n    SetHandler modperl\n    PerlResponseHandler My::Big\n</Location>\n\
             SSLCertificateFile @ROOT@/server.pem\n",
        )
        .args(&["--listen", "https://127.0.0.1:0"]);
    let pem = server.folder_of("server.pem");
    let made = Command::new(binary::mehari())
        .args(["certificate", "--out"])
        .arg(&pem)
        .args(["localhost", "127.0.0.1"])
        .output();
    assert!(made.expect("mehari runs").status.success());
    let server = server.start();
    let plain = format!("http://{}", server.address);
    let secure = &server.urls()[1];
    for path in ["/app", "/big", "/registry/big.pl"] {
        for (base, protocol) in [
            (plain.as_str(), "--http1.1"),
            (&plain, "--http2-prior-knowledge"),
            (secure, "--http1.1"),
            (secure, "--http2"),
        ] {
            let _ = std::fs::remove_file(server.site.path("htdocs/go"));
            let _ = std::fs::remove_file(server.site.path("notes"));
            let url = format!("{}{path}", base.trim_end_matches('/'));
            let output = Command::new("curl")
                .args(["-s", "-k", "--max-time", "20", protocol, &url])
                .output()
                .expect("curl runs");
            let what = format!("{url} {protocol}");
            assert!(output.status.success(), "{what}: {}", output.status);
            assert_eq!(output.stdout.len(), 300_000, "{what}");
            assert_eq!(notes(&server), [""; 0], "{what}");
            let_go(&server);
            for word in ["cleanup", "code", "name"] {
                noted(&server, word);
            }
            let order: Vec<String> = notes(&server);
            let place = |word: &str| order.iter().position(|note| note.starts_with(word));
            assert!(place("cleanup") < place("code"), "{what}: {order:?}");
        }
    }
    counted(&server, "done", 24);
}

#[test]
fn scripts_on_every_rung_defer_a_named_call() {
    let body = "print Mehari::after_response('My::Later::note', \"from $ENV{SCRIPT_NAME}\") ? 'yes' : 'no';";
    let server = site(2)
        .file("scripts/later.pl", &plain(body))
        .ladder()
        .start();
    for rung in [
        Rung::Fork,
        Rung::Rewind,
        Rung::Auto,
        Rung::PerlRun,
        Rung::Registry,
    ] {
        let url = rung.url("later.pl");
        assert_eq!(server.get(&url).expect(200), "yes", "{}", rung.name());
        noted(&server, &format!("from {url}"));
    }
    counted(&server, "done", 5);
}

#[test]
fn code_of_a_script_with_its_own_process_is_refused() {
    let body = "eval { Mehari::after_response(sub { 1 }) }; print $@;";
    let server = site(2)
        .file("scripts/later.pl", &plain(body))
        .ladder()
        .start();
    for rung in [Rung::Fork, Rung::Rewind, Rung::Auto] {
        let said = server.get(&rung.url("later.pl")).expect(200);
        assert!(said.contains("expected the name of a sub"), "{said}");
        assert!(said.contains("later.pl line 3"), "{said}");
    }
    assert_eq!(server.get(&Rung::Registry.url("later.pl")).expect(200), "");
    counted(&server, "done", 1);
}

#[test]
fn rewound_handler_calls_code_before_it_is_put_back() {
    let server = site(2)
        .conf("<Location /later>\n    PerlIsolation rewind\n</Location>\n")
        .start();
    for _ in 0..3 {
        assert_eq!(defer(&server, "how=code&sub=note"), "deferred 1");
        assert_eq!(defer(&server, "how=name&sub=note"), "deferred 1");
    }
    counted(&server, "done", 6);
    assert_eq!(notes(&server).len(), 6);
}

#[test]
fn arguments_arrive_as_they_were_given() {
    let body = "my %tied; print Mehari::after_response('My::Later::keeps', 1, 'a', undef, \"\\x{e9}\\x{263a}\", \"\\xff\\0\", 1.5,\n\
        [1, ['x']], {k => {l => undef}}, []);";
    let server = site(1)
        .file("scripts/later.pl", &plain(body))
        .ladder()
        .start();
    server.get(&Rung::Registry.url("later.pl")).expect(200);
    let note = noted(&server, "1:");
    assert_eq!(
        note,
        "1:49|1:97|undef|2:233.9786|2:255.0|3:49.46.53|(1:49,(1:120))|{k={l=undef}}|()"
    );
}

#[test]
fn deferred_call_has_no_request_and_may_defer_another() {
    let server = site(1).start();
    defer(&server, "how=name&sub=asks");
    noted(&server, "no request");
    let line = server.log.expect("aside");
    assert!(line.contains("My::Later::asks"), "{line}");
    defer(&server, "how=name&sub=again");
    noted(&server, "again");
    counted(&server, "done", 3);
    assert!(!notes(&server).iter().any(|note| note.starts_with("env")));
}

#[test]
fn call_that_can_never_be_made_dies_in_its_request() {
    let body = "sub own { 1 }\nmy @calls = (['My::Later::none'], ['No::Such::sub'], ['plain'], [undef], [__PACKAGE__ . '::own'],\n\
        ['My::Later::note', sub { 1 }], ['My::Later::note', [\\my $x]], ['My::Later::note', bless {}, 'Cart'], ['My::Later::note', *STDOUT],\n\
        ['My::Later::note', 'x' x 70_000]);\nmy $deep = 1; $deep = [$deep] for 1 .. 200; push @calls, ['My::Later::note', $deep];\n\
        for (@calls) { eval { Mehari::after_response(@$_); print \"taken\\n\" }; print $@ }";
    let server = site(1)
        .file("scripts/later.pl", &plain(body))
        .ladder()
        .start();
    let said = server.get(&Rung::Registry.url("later.pl")).expect(200);
    let lines: Vec<&str> = said.lines().collect();
    let expected = [
        "there is no sub My::Later::none in ",
        "there is no sub No::Such::sub, and no file No/Such.pm in @INC",
        "`plain` is no sub; expected code, or the name of a sub: 'Package::sub'",
        "undef is no sub",
        "a sub of a script, which other workers may not have",
        "argument 1 has a reference to CODE; expected plain data",
        "argument 1 has a reference to SCALAR",
        "argument 1 has a reference to Cart",
        "argument 1 has a reference to GLOB",
        "expected at most 60000",
        "argument 1 is nested more than 100 deep",
    ];
    assert_eq!(lines.len(), expected.len(), "{said}");
    for (line, words) in lines.iter().zip(expected) {
        assert!(
            line.starts_with("after_response: ") && line.contains(words),
            "{line}"
        );
        assert!(line.contains("later.pl line"), "{line}");
    }
    assert_eq!(counts(&server)["accepted"], 0);
}

#[test]
fn full_queue_refuses_and_says_so() {
    let server = site(2).conf("DeferredCalls 2\n").start();
    defer(&server, "how=name&sub=begin_and_wait&with=first");
    noted(&server, "begun first");
    for _ in 0..2 {
        assert!(defer(&server, "how=name&sub=note").starts_with("deferred"));
    }
    assert!(defer(&server, "how=name&sub=note").starts_with("refused"));
    let line = server.log.expect("is refused: DeferredCalls");
    assert!(line.contains("GET /later?how=name&sub=note"), "{line}");
    let now = counts(&server);
    assert_eq!(
        (&now["waiting"], &now["running"], &now["refused"]),
        (&2.into(), &1.into(), &1.into())
    );
    let text = server.control(&["status"]).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(
        text.contains("deferred calls: waiting 2, running 1, accepted 3, refused 1"),
        "{text}"
    );
    let metrics = server.get("/metrics").expect(200);
    for line in [
        "mehari_deferred_calls_open{state=\"waiting\"} 2",
        "mehari_deferred_calls_open{state=\"running\"} 1",
        "mehari_deferred_calls_total{outcome=\"refused\"} 1",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    // Other requests are served meanwhile.
    assert_eq!(server.get("/page").expect(200), "page");
    let_go(&server);
    counted(&server, "done", 3);
    counted(&server, "waiting_bytes", 0);
}

#[test]
fn memory_of_waiting_calls_is_limited() {
    let body = "print Mehari::after_response('My::Later::wait_for_go', 'x' x 50_000) ? 'yes' : 'no' for 1 .. 6;";
    let server = site(1)
        .conf("DeferredCallsMemory 150000\n")
        .file("scripts/later.pl", &plain(body))
        .ladder()
        .start();
    // All calls of a request wait until the request is over.
    let said = server.get(&Rung::Registry.url("later.pl")).expect(200);
    assert_eq!(said, "yesyesnononono");
    let_go(&server);
    counted(&server, "done", 2);
    assert_eq!(counts(&server)["refused"], 4);
}

#[test]
fn one_request_keeps_a_bounded_number_of_code_references() {
    let body = "my $r = shift; my $kept = 0; for (1 .. 150) { $kept++ if $r->after_response(sub { 1 }) } print $kept;";
    let server = site(1)
        .file("scripts/later.pl", &plain(body))
        .ladder()
        .start();
    for round in 1..=2 {
        assert_eq!(
            server.get(&Rung::Registry.url("later.pl")).expect(200),
            "100"
        );
        counted(&server, "done", 100 * round);
        counted(&server, "refused", 50 * round);
    }
}

#[test]
fn call_of_a_killed_worker_is_lost_once_and_counted() {
    let server = site(2).start();
    defer(&server, "how=name&sub=kills");
    let line = server
        .log
        .expect("the deferred call of My::Later::kills is lost");
    assert!(line.contains("the worker was ended by signal 9"), "{line}");
    counted(&server, "lost", 1);
    defer(&server, "how=code&sub=kills");
    server.log.expect("1 deferred calls of code are lost");
    counted(&server, "lost", 2);
    assert_eq!(server.get("/later?how=name&sub=note").status, 200);
    noted(&server, "name");
    assert_eq!(notes(&server), ["begun name", "begun code", "name"]);
}

#[test]
fn calls_of_a_request_whose_worker_dies_are_made() {
    let body = "Mehari::after_response('My::Later::note', 'kept'); kill KILL => $$; sleep 60;";
    let server = site(2)
        .file("scripts/later.pl", &plain(body))
        .ladder()
        .start();
    assert_eq!(server.get(&Rung::Registry.url("later.pl")).status, 502);
    noted(&server, "kept");
}

#[test]
fn error_is_logged_with_its_line_and_the_worker_goes_on() {
    let server = site(1).start();
    for how in ["name", "code"] {
        defer(&server, &format!("how={how}&sub=breaks"));
    }
    counted(&server, "failed", 2);
    let is_logged = || server.log.count("broken at ") == 2;
    assert!(eventually(PATIENCE, is_logged), "{}", server.log.text());
    let line = server.log.expect("broken at ");
    assert!(line.contains("/lib/My/Later.pm line "), "{line}");
    assert_eq!(counts(&server)["lost"], 0);
}

#[test]
fn time_limit_ends_a_call_and_logs_its_stack() {
    for how in ["name", "code"] {
        let server = site(2).conf("DeferredCallTimeout 1\n").start();
        defer(&server, &format!("how={how}&sub=hangs"));
        let words =
            "the deferred call ran longer than 1 s (DeferredCallTimeout): its worker is killed";
        server.log.expect(words);
        server.log.expect("My::Later::hangs");
        counted(&server, "timed_out", 1);
        assert_eq!(counts(&server)["lost"], 0, "{}", server.log.text());
        defer(&server, "how=name&sub=note");
        noted(&server, "name");
    }
}

#[test]
fn waiting_calls_survive_a_reload() {
    let server = site(2).start();
    let before = server.workers();
    defer(&server, "how=name&sub=begin_and_wait&with=first");
    noted(&server, "begun first");
    defer(&server, "how=name&sub=wait_for_go&with=second");
    defer(&server, "how=code&sub=begin_and_wait&with=third");
    noted(&server, "begun third");
    assert!(server.control(&["reload"]).status.success());
    let_go(&server);
    let pid = |word: &str| -> i32 {
        let note = noted(&server, word);
        note.rsplit(' ')
            .next()
            .expect("a number")
            .parse()
            .expect("a number")
    };
    assert!(before.contains(&pid("first ")) && before.contains(&pid("third ")));
    assert!(!before.contains(&pid("second ")), "{:?}", notes(&server));
    counted(&server, "done", 3);
}

#[test]
fn replaced_process_makes_its_calls_before_it_ends() {
    let mut server = site(2).start();
    defer(&server, "how=name&sub=begin_and_wait&with=first");
    noted(&server, "begun first");
    defer(&server, "how=name&sub=note&with=second");
    assert!(
        server.control(&["upgrade"]).status.success(),
        "{}",
        server.log.text()
    );
    let_go(&server);
    server.follow_upgrade();
    noted(&server, "second");
    noted(&server, "first ");
}

#[test]
fn stop_makes_the_waiting_calls() {
    let mut server = site(2).start();
    defer(&server, "how=name&sub=begin_and_wait&with=first");
    noted(&server, "begun first");
    for _ in 0..3 {
        defer(&server, "how=name&sub=note&with=second");
    }
    server.signal(Signal::Term);
    let_go(&server);
    assert!(server.wait().is_some_and(|status| status.success()));
    let notes = notes(&server);
    assert_eq!(
        notes.iter().filter(|note| *note == "second").count(),
        3,
        "{notes:?}"
    );
}

#[test]
fn stop_waits_for_cleanups_and_kept_code() {
    let body = "use My::Later; my $r = shift; print 'answered';\n\
        $r->pool->cleanup_register(sub { My::Later::begin_and_wait('cleanup') });\n\
        $r->after_response(sub { My::Later::note('code') });";
    let mut server = site(1)
        .file("scripts/later.pl", &plain(body))
        .ladder()
        .start();
    let url = Rung::Registry.url("later.pl");
    assert_eq!(server.get(&url).expect(200), "answered");
    noted(&server, "begun cleanup");
    server.signal(Signal::Term);
    server.log.expect("TERM: finishing the requests under way");
    let_go(&server);
    assert!(server.wait().is_some_and(|status| status.success()));
    let notes = notes(&server);
    assert!(
        notes.iter().any(|note| note.starts_with("cleanup ")),
        "{notes:?}"
    );
    assert_eq!(notes.last().map(String::as_str), Some("code"), "{notes:?}");
}

#[test]
fn stop_says_which_calls_it_drops() {
    let mut server = site(2).conf("GracefulShutdownTimeout 1\n").start();
    defer(&server, "how=name&sub=begin_and_wait&with=first");
    noted(&server, "begun first");
    for name in ["note", "breaks", "note"] {
        defer(&server, &format!("how=name&sub={name}"));
    }
    server.signal(Signal::Term);
    server.log.expect(
        "3 deferred calls are dropped, because the server ends: My::Later::note 2, My::Later::breaks 1",
    );
    server
        .log
        .expect("1 deferred calls are cut off, because the server ends");
    assert!(server.wait().is_some_and(|status| status.success()));
}

#[test]
fn calls_of_a_warm_up_are_dropped() {
    let server = site(1)
        .conf("ZygoteWarmup /later?how=name&sub=note /later?how=code&sub=note\n")
        .start();
    server.log.expect("4 requests ran before the first fork");
    assert_eq!(counts(&server)["accepted"], 0);
    defer(&server, "how=name&sub=note&with=client");
    noted(&server, "client");
    assert_eq!(notes(&server), ["client"]);
    let metrics = server.get("/metrics").expect(200);
    assert!(
        metrics.contains("mehari_warmup_requests{host=\"\",outcome=\"answered\"} 4"),
        "{metrics}"
    );
    assert!(
        metrics.contains("mehari_warmup_round_seconds{host=\"\",round=\"first\"} "),
        "{metrics}"
    );
    let status = server.status();
    let bytes = &status["pool"]["teams"][0]["warmup"]["memory"];
    let line = format!("mehari_warmup_shared_bytes{{host=\"\"}} {bytes}");
    assert!(metrics.contains(&line), "{line}: {metrics}");
}

#[test]
fn call_is_made_although_the_workers_are_never_idle() {
    let server = site(1)
        .file("scripts/works.pl", &plain("print 'worked';"))
        .ladder()
        .start();
    let work = Request::get(&Rung::Registry.url("works.pl"));
    let begun = Instant::now();
    let (is_over, made_in_time) = (AtomicBool::new(false), AtomicBool::new(false));
    let load = || {
        let mut connection = server.connect();
        while !is_over.load(Relaxed) && begun.elapsed() < PATIENCE {
            let answer = connection.send(&work).expect("an answer");
            assert_eq!(answer.expect(200), "worked");
            if !notes(&server).is_empty() {
                made_in_time.store(true, Relaxed);
                is_over.store(true, Relaxed);
            }
        }
        is_over.store(true, Relaxed);
    };
    std::thread::scope(|scope| {
        (0..8).for_each(|_| drop(scope.spawn(load)));
        defer(&server, "how=name&sub=note");
    });
    assert!(made_in_time.load(Relaxed), "{}", counts(&server));
}

#[test]
fn team_without_a_worker_gets_one_for_a_waiting_call() {
    let server = site(1)
        .conf("WorkerIdleTimeout 1 All\nStartServers 0\n")
        .start();
    let mut connection = server.connect();
    let kills = Request::get("/later?how=code&sub=kills");
    connection.send(&kills).expect("an answer").expect(200);
    defer(&server, "how=name&sub=note");
    noted(&server, "name");
}
