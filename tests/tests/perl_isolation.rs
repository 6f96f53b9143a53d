//! Tests `PerlIsolation rewind`: a PSGI application or a handler that leaks and forgets answers
//! each request like its first request, whatever happens to its processes.

use mehari_harness::{eventually, processes, Builder, Request, Server, PATIENCE};
use rustix::process::Signal;

/// Tells what earlier requests have left, then leaves as much as it can.
const LEAKY: &str = r#"package Leaky;
use strict;
use warnings;
our ($count, @grown, %seen, $object) = (0);
my $lexical = 0;
sub found {
    my @here = stat '.';
    my @root = stat '/';
    return join '|', $count, scalar @grown, $lexical, join(',', sort keys %seen),
        map({ $_ // 'unset' } $ENV{LEFT}, $ENV{PATH}, ref $SIG{USR1}, $SIG{HUP}),
        "$here[0]:$here[1]" eq "$root[0]:$root[1]" ? 'away' : 'home', umask,
        fileno(STDERR) // 'closed', length $/, $, // 'undef', "@INC" =~ /left/ ? 'lib' : '',
        defined &Leaky::left ? 'sub' : '', defined $object ? 'object' : '', alarm 0;
}
sub leave {
    my ($name) = @_;
    $count++;
    $lexical++;
    push @grown, ('x' x 1_000) x 20;
    $seen{$name} = \%seen;
    @ENV{qw(LEFT PATH)} = ('here', '/left');
    $SIG{USR1} = sub { };
    $SIG{HUP}  = 'IGNORE';
    chdir '/';
    umask 0777;
    alarm 1_000;
    ($/, $,) = (undef, '-');
    unshift @INC, '/left';
    no strict 'refs';
    *{'Leaky::left'} = sub { 1 };
    open my $kept, '<', '/dev/null' or die;
    $object = bless {kept => $kept}, 'Leaky';
    close STDERR;
    return;
}
sub answer {
    my ($name) = @_;
    my $found = found();
    leave($name);
    die "asked to die\n" if $name eq 'dies';
    kill KILL => readlink '/proc/self' if $name eq 'killed';
    require POSIX if $name eq 'leaves';
    POSIX::_exit(3) if $name eq 'leaves';
    return "$name $found";
}
sub handler {
    my $r = shift;
    require Apache2::RequestRec;
    require Apache2::RequestIO;
    my $text = answer($r->uri =~ m{([^/]*)$});
    $r->content_type('text/plain');
    $r->print($text);
    return 0;
}
1;
"#;
const APP: &str = "use Leaky; sub { [200, ['Content-Type' => 'text/plain'], [Leaky::answer($_[0]{PATH_INFO} =~ m{([^/]*)$})]] }";

/// Prints the number of its process without asking the kernel for it.
const WHO: &str = "sub who { readlink '/proc/self' }\n";

fn site(workers: u32) -> Builder {
    Server::builder()
        .conf(&mehari_harness::scripts::workers(workers))
        .conf("PerlSwitches -I@ROOT@/lib\n")
        .env("MEHARI_REWIND_COMPARE", "1")
}

fn leaky(workers: u32) -> Server {
    site(workers)
        .file("lib/Leaky.pm", LEAKY)
        .file("app.psgi", APP)
        .conf(
            "PerlIsolation rewind\n\
             <Location /app>\nSetHandler psgi\nPSGIApp @ROOT@/app.psgi\n</Location>\n\
             <Location /modperl>\nSetHandler modperl\nPerlResponseHandler Leaky\n</Location>\n\
             <Location /script>\nSetHandler perl-script\nPerlResponseHandler Leaky\n</Location>\n\
             <Location /shared>\nPerlIsolation none\nSetHandler psgi\nPSGIApp @ROOT@/app.psgi\n</Location>\n",
        )
        .start()
}

/// An application below `/app`, with the code `sub { my $env = shift; ... }`.
fn app(workers: u32, before: &str, body: &str) -> Server {
    site(workers)
        .file(
            "app.psgi",
            &format!("{WHO}{before}\nsub {{ my $env = shift; {body} }}"),
        )
        .conf("<Location /app>\nSetHandler psgi\nPSGIApp @ROOT@/app.psgi\nPerlIsolation rewind\n</Location>\n")
        .start()
}

/// Checks the log: the server compares all memory after each rewind, and logs differences.
#[track_caller]
fn all_memory_was_put_back(server: &Server) {
    assert_eq!(server.log.count("not as they were"), 0);
}

fn session(server: &Server) -> processes::Pid {
    processes::process(server.pid()).expect("it runs").session
}

fn of_templates(server: &Server) -> Vec<processes::Process> {
    let mut all = processes::descendants(server.pid());
    all.retain(|it| it.command == "mehari-template");
    all
}

/// Ends a process that serves, or replaces all.
fn disturb(server: &Server, turn: usize) {
    match turn % 4 {
        0 => drop(server.control(&["reload"])),
        1 => {
            if let Some(worker) = server.workers().first() {
                processes::signal(*worker, Signal::Kill);
            }
        }
        _ => {
            let all = of_templates(server);
            if !all.is_empty() {
                processes::signal(all[turn * 7 % all.len()].pid, Signal::Kill);
            }
        }
    }
}

#[test]
fn leaky_code_answers_each_request_like_its_first() {
    let server = leaky(3);
    let places = ["app", "modperl", "script"];
    let names = ["one", "two", "dies", "three", "killed", "leaves", "four"];
    let ask = |place: &str, name: &str| server.send(&Request::get(&format!("/{place}/{name}")));
    let first = |place: &str, name: &str| ask(place, name).expect(200);
    let expected = |place: &str, name: &str| first(place, "first").replace("first", name);
    let all: Vec<(&str, Vec<String>)> = places
        .iter()
        .map(|place| (*place, names.iter().map(|it| expected(place, it)).collect()))
        .collect();
    assert!(
        all[0].1[0].starts_with("one 0|0|0||unset|"),
        "{}",
        all[0].1[0]
    );
    let (mut failed, mut disturbed) = (0, 0);
    for turn in 0..3_000 {
        let (place, expected) = &all[turn * 31 % 3];
        let at = turn * 17 % names.len();
        let must_fail = ["dies", "killed", "leaves"].contains(&names[at]);
        if must_fail && turn % 8 != 0 {
            continue;
        }
        if turn % 150 == 149 {
            disturb(&server, disturbed);
            disturbed += 1;
        }
        let answer = ask(place, names[at]);
        match (answer.status, must_fail) {
            (200, false) => assert_eq!(answer.text(), expected[at], "/{place}"),
            (500 | 502, true) => {}
            (500 | 502, false) => failed += 1,
            (status, _) => panic!("/{place}/{}: {status}", names[at]),
        }
    }
    assert!(failed <= disturbed, "{failed} of {disturbed}");
    all_memory_was_put_back(&server);
    let shared = |name: &str| first("shared", name);
    assert!((0..20).any(|_| shared("x") != shared("x")), "it leaks");
}

/// Runs a script of the isolation corpus within a handler or an application.
const CORPUS: &str = r##"package Corpus;
sub run {
    my ($file) = @_;
    open my $in, '<', "@ROOT@/scripts/$file" or die "$file: $!";
    my ($code, $text) = (join('', <$in>), '');
    $ENV{QUERY_STRING} = 'n=7';
    open my $out, '>', \$text or die;
    my $printed = select $out;
    eval "package main; no strict; no warnings;\n#line 1 corpus\n$code\n;1" or $text .= 'died';
    select $printed;
    return $text;
}
sub handler {
    my $r = shift;
    my $text = run($r->uri =~ m{([^/]*)$});
    $r->content_type('text/plain');
    $r->print($text);
    return 0;
}
1;
"##;
/// The scripts that tell their age, or whose program prints at any time beside the response.
const DIFFERS: [&str; 3] = [
    "first_state.pl",
    "output_to_pipe.pl",
    "output_to_pipe_left.pl",
];
const CORPUS_APP: &str =
    "use Corpus; sub { [200, [], [Corpus::run($_[0]{PATH_INFO} =~ m{([^/]*)$})]] }";

#[test]
fn corpus_in_handlers_and_applications_answers_like_its_first_request() {
    let server = site(2)
        .fixtures("dirty")
        .file("lib/Corpus.pm", CORPUS)
        .file("app.psgi", CORPUS_APP)
        .fill_in(&["lib/Corpus.pm"], &[])
        .conf(
            "PerlIsolation rewind\n\
             <Location /app>\nSetHandler psgi\nPSGIApp @ROOT@/app.psgi\n</Location>\n\
             <Location /modperl>\nSetHandler modperl\nPerlResponseHandler Corpus\n</Location>\n",
        )
        .start();
    let names = std::fs::read_dir(server.site.path("scripts")).expect("the corpus was copied");
    let mut names: Vec<String> = names
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".pl") && !DIFFERS.contains(&name.as_str()))
        .collect();
    names.sort();
    let places = ["app", "modperl"].iter().cycle();
    let pages: Vec<String> = names
        .iter()
        .zip(places)
        .map(|(name, place)| format!("/{place}/{name}"))
        .collect();
    let ask = |path: &String| {
        let answer = server.send(&Request::get(path));
        (answer.status, answer.text())
    };
    let first: Vec<_> = pages.iter().map(ask).collect();
    let good = first.iter().filter(|(status, _)| *status == 200).count();
    assert!(good > pages.len() / 2, "{good} of {}", pages.len());
    for (path, first) in pages.iter().zip(&first).rev() {
        if first.0 == 200 {
            assert_eq!(ask(path), *first, "{path}");
        }
    }
    all_memory_was_put_back(&server);
}

#[test]
fn one_process_serves_the_requests_and_does_not_grow() {
    let server = app(
        1,
        "our @kept;",
        "push @kept, 'x' x (100_000 + (@kept & 1)); [200, [], [who(), ' ', scalar @kept]]",
    );
    let get = || server.get("/app").expect(200);
    let first = get();
    assert!(first.ends_with(" 1"), "{first}");
    let pid = first.split(' ').next().and_then(|it| it.parse().ok());
    let size = || processes::kilobytes(pid.expect("a number"), "RssAnon");
    for _ in 0..500 {
        assert_eq!(get(), first);
    }
    let before = size();
    for _ in 0..2_000 {
        assert_eq!(get(), first);
    }
    // AddressSanitizer keeps some pages of its own.
    let more = if mehari_harness::is_sanitized() {
        1_000
    } else {
        0
    };
    let (before, after) = (before.expect("a size"), size().expect("a size"));
    // A page that requests no longer write belongs to the picture again.
    assert!(after <= before + more, "{before} {after}");
    all_memory_was_put_back(&server);
}

/// Streams, delays and leaves work for after the response. `note` appends to a file.
const STREAMS: &str = r#"
our $runs = 0;
sub main::note { open my $out, '>>', '@ROOT@/logs/noted' or die; syswrite $out, "$_[0]\n" }
package Guard { sub new { bless [$_[1]] } sub DESTROY { main::note("end of $_[0][0]") } }
our ($guard, $first) = (undef, Guard->new('the application'));
"#;
const STREAMING: &str = r#"
my $path = $env->{PATH_INFO};
my $run = ++$runs;
return [200, [], [do { local $/; readline $env->{'psgi.input'} }]] if $path eq '/echo';
push @{ $env->{'psgix.cleanup.handlers'} }, sub { main::note("cleanup $run"); $runs = 'dirty' } if $path eq '/cleanup';
$main::guard = Guard->new($run) if $path eq '/guard';
if ($path eq '/file') { open $main::kept, '>>', '@ROOT@/logs/noted' or die; print $main::kept "buffered\n" }
if ($path eq '/layers') { my $in = $env->{'psgi.input'}; binmode $in, ':encoding(UTF-8)'; my $line = <$in>; binmode $in; return [200, [], [$line, <$in>]] }
return sub { my $writer = $_[0]->([200, []]); $writer->write("part $_ ") for 1 .. 3; $writer->write($run); $writer->close } if $path eq '/stream';
return sub { $_[0]->([200, [], ["delayed $run"]]) } if $path eq '/delay';
if ($path eq '/harakiri') { $env->{'psgix.harakiri.commit'} = 1 }
[200, [], ["$run ", who()]];
"#;

#[test]
fn each_part_of_psgi_works_and_objects_end_with_their_request() {
    let server = site(1)
        .file("app.psgi", &format!("{WHO}{STREAMS}sub {{ my $env = shift; {STREAMING} }}"))
        .fill_in(&["app.psgi"], &[])
        .conf("<Location /app>\nSetHandler psgi\nPSGIApp @ROOT@/app.psgi\nPerlIsolation rewind\n</Location>\n")
        .start();
    let get = |path: &str| server.get(&format!("/app{path}")).expect(200);
    let large = "b".repeat(300_000);
    for _ in 0..3 {
        assert_eq!(get("/stream"), "part 1 part 2 part 3 1");
        assert_eq!(get("/delay"), "delayed 1");
        for body in ["small", &large] {
            let echoed = server.send(&Request::post("/app/echo", body)).expect(200);
            assert!(echoed == body, "{} bytes", echoed.len());
        }
        let layers = server.send(&Request::post("/app/layers", "one\ntwo\n"));
        assert_eq!(layers.expect(200), "one\ntwo\n");
        for path in ["/cleanup", "/guard", "/file", "/plain"] {
            assert!(get(path).starts_with("1 "));
        }
    }
    let noted = ["cleanup 1", "end of 1", "buffered"].map(|it| format!("{it}\n"));
    let all = || server.site.read("logs/noted") == noted.concat().repeat(3);
    assert!(
        eventually(PATIENCE, all),
        "{}",
        server.site.read("logs/noted")
    );
    let (before, replaced, after) = (get("/plain"), get("/harakiri"), get("/plain"));
    assert_eq!(before, replaced);
    assert_ne!(replaced, after);
    all_memory_was_put_back(&server);
}

/// A handler with phases of its own, filters, sub-requests, redirects and cleanups.
const PHASES: &str = r#"package Phases;
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::RequestUtil ();
use Apache2::SubRequest ();
use Apache2::Filter ();
use APR::Pool ();
our $runs = 0;
sub note { open my $out, '>>', '@ROOT@/logs/noted' or die; syswrite $out, "$_[0]\n" }
sub access { my $r = shift; $runs++; $r->pnotes(runs => $runs); return ($r->args // '') eq 'refuse' ? 403 : 0 }
sub handler {
    my $r = shift;
    my $what = $r->args // '';
    $r->content_type('text/plain');
    $r->print($r->pnotes('runs'), ' ', $r->dir_config('Place'), ' ');
    $r->pool->cleanup_register(sub { note("pool $runs") }) if $what eq 'pool';
    $r->lookup_uri('/phases/inner')->run if $what eq 'sub';
    if ($what eq 'redirect') { $r->internal_redirect('/cgi/inner.pl'); return 0 }
    return -1 if $what eq 'declines';
    return 404 if $what eq 'missing';
    return 0;
}
sub inner { my $r = shift; $r->print('inner ', ++$runs, ' '); return 0 }
sub logs { note("log $runs") if ($_[0]->args // '') eq 'notes'; return 0 }
sub cleans { note("cleanup $runs") if ($_[0]->args // '') eq 'notes'; $runs = 'dirty'; return 0 }
sub upper { my $filter = shift; while ($filter->read(my $part, 1024)) { $filter->print(uc $part) } return 0 }
1;
"#;

#[test]
fn all_phases_of_a_handler_run_in_the_process_that_is_rewound() {
    let server = site(1)
        .file("lib/Phases.pm", PHASES)
        .file("scripts/inner.pl", "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\nscript\";")
        .file("htdocs/index.html", "front\n")
        .fill_in(&["lib/Phases.pm"], &[])
        .conf(
            "DocumentRoot @ROOT@/htdocs\n<Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n\
             PerlModule Phases\n\
             <Location /phases>\nSetHandler modperl\nPerlIsolation rewind\nPerlSetVar Place here\n\
             PerlResponseHandler Phases\nPerlAccessHandler Phases::access\nPerlLogHandler Phases::logs\n\
             PerlCleanupHandler Phases::cleans\n</Location>\n\
             <Location /phases/inner>\nPerlResponseHandler Phases::inner\n</Location>\n\
             <Location /phases/upper>\nPerlOutputFilterHandler Phases::upper\n</Location>\n\
             Alias /cgi/ @ROOT@/scripts/\n\
             <Location /cgi/>\nSetHandler perl-script\nPerlResponseHandler Mehari::Fork\n\
             PerlOptions +ParseHeaders\nOptions +ExecCGI\nRequire all granted\n</Location>\n",
        )
        .start();
    let get = |target: &str| server.get(target);
    for _ in 0..3 {
        assert_eq!(get("/phases").expect(200), "1 here ");
        assert_eq!(get("/phases/upper").expect(200), "1 HERE ");
        assert_eq!(get("/phases?sub").expect(200), "1 here inner 3 ");
        assert_eq!(get("/phases?redirect").expect(200), "script");
        assert_eq!(get("/phases?pool").expect(200), "1 here ");
        assert_eq!(get("/phases?notes").expect(200), "1 here ");
        get("/phases?refuse").expect(403);
        get("/phases?missing").expect(404);
    }
    let noted = || server.site.read("logs/noted");
    let all = || noted() == "pool dirty\nlog 1\ncleanup 1\n".repeat(3);
    assert!(eventually(PATIENCE, all), "{}", noted());
    all_memory_was_put_back(&server);
}

#[test]
fn application_with_a_socket_from_before_gets_a_process_for_each_request() {
    let server = app(
        1,
        "use IO::Socket::INET; our $listens = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die; our $n = 0;",
        "[200, [], [++$n, ' ', who()]]",
    );
    let answers: std::collections::HashSet<String> =
        (0..5).map(|_| server.get("/app").expect(200)).collect();
    assert_eq!(answers.len(), 5, "{answers:?}");
    assert!(answers.iter().all(|it| it.starts_with("1 ")), "{answers:?}");
    let line = server.log.expect("app.psgi: runs as on the rung `fork`:");
    assert!(line.contains("a socket of 127.0.0.1:"), "{line}");
    assert_eq!(server.log.count("runs as on the rung `fork`"), 1);
}

#[test]
fn socket_opened_within_a_request_ends_with_it() {
    let server = app(
        1,
        "use IO::Socket::INET; our @kept;",
        "push @kept, IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die; \
         opendir my $all, '/proc/self/fd' or die; my @all = readdir $all; [200, [], [scalar @kept, ' ', scalar @all, ' ', who()]]",
    );
    let first = server.get("/app").expect(200);
    for _ in 0..20 {
        assert_eq!(server.get("/app").expect(200), first);
    }
}

#[test]
fn child_init_runs_before_the_picture() {
    let server = site(1)
        .file(
            "lib/Begun.pm",
            "package Begun; use Apache2::RequestRec (); use Apache2::RequestIO (); our $begun = 0; sub init { $begun++; 0 } \
             sub handler { my $r = shift; $r->print($begun++, ' ', rand); 0 } 1;",
        )
        .conf(
            "PerlModule Begun\nPerlChildInitHandler Begun::init\n\
             <Location /begun>\nSetHandler modperl\nPerlResponseHandler Begun\nPerlIsolation rewind\n</Location>\n",
        )
        .start();
    let get = || server.get("/begun").expect(200);
    let answers: std::collections::HashSet<String> = (0..20).map(|_| get()).collect();
    assert!(answers.iter().all(|it| it.starts_with("1 ")), "{answers:?}");
    assert_eq!(
        answers.len(),
        20,
        "a random number has repeated: {answers:?}"
    );
}

fn script_named(server: &Server, name: &str) -> serde_json::Value {
    let status = server.status();
    let scripts = status["pool"]["scripts"].as_array().expect("scripts");
    let told = |it: &&serde_json::Value| it["script"].as_str().is_some_and(|it| it.ends_with(name));
    scripts.iter().find(told).cloned().unwrap_or_default()
}

#[test]
fn status_and_explain_name_the_isolation() {
    let server = leaky(1);
    // A request that comes before its child is restored begins another child.
    for (name, page) in [("app.psgi", "/app/x"), ("Leaky", "/modperl/x")] {
        let mut script = serde_json::Value::Null;
        let rewound = eventually(PATIENCE, || {
            server.get(page).expect(200);
            script = script_named(&server, name);
            script["rewinds"].as_u64() >= Some(3)
        });
        assert!(rewound, "{script}");
        assert_eq!(script["rung"], "rewind", "{script}");
    }
    let explain = |what: &str| {
        let told = server.control(&["explain", what]).stdout;
        String::from_utf8_lossy(&told).into_owned()
    };
    for (what, handler) in [("/app/x", "psgi"), ("/modperl/x", "modperl Leaky")] {
        let told = explain(what);
        assert!(told.contains(handler), "{told}");
        assert!(
            told.contains("on the rung `rewind` by PerlIsolation"),
            "{told}"
        );
        assert!(told.contains("rewinds"), "{told}");
    }
    assert!(!explain("/shared/x").contains("PerlIsolation"));
}

#[test]
fn child_processes_and_threads_of_a_request_do_not_reach_the_next() {
    let server = app(
        1,
        "our $n = 0;",
        "++$n; my $path = $env->{PATH_INFO}; \
         if ($path eq '/system') { system 'true' } \
         if ($path eq '/backticks') { my $text = `echo printed`; return [200, [], [\"$n $text\"]] } \
         if ($path eq '/left') { if (!fork) { exec 'sleep', '1' } } \
         if ($path eq '/fork') { my $pid = fork; if (!$pid) { require POSIX; POSIX::_exit(0) } waitpid $pid, 0 } \
         if ($path eq '/exec') { exec 'echo', 'replaced' } \
         if ($path eq '/exit') { exit 0 } \
         [200, [], [\"$n \"]]",
    );
    for _ in 0..4 {
        for path in ["/system", "/fork", "/left", "/plain"] {
            assert_eq!(server.get(&format!("/app{path}")).expect(200), "1 ");
        }
        assert_eq!(server.get("/app/backticks").expect(200), "1 printed\n");
        server.get("/app/exit").expect(500);
    }
    let none_sleeps = || {
        processes::all()
            .iter()
            .all(|it| it.session != session(&server) || it.command != "sleep")
    };
    assert!(eventually(PATIENCE, none_sleeps));
}
