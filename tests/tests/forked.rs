//! Tests what child processes of Perl code hold: no mailbox, and no socket of the server or of a
//! client. A detached child outlives a reload and a stop, and the port is free for the next start.

use mehari_harness::processes::{self, Pid};
use mehari_harness::scripts::{let_go, plain, workers};
use mehari_harness::{eventually, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;

/// The rungs whose scripts run in processes of the server.
const RUNGS: [Rung; 4] = [Rung::Registry, Rung::PerlRun, Rung::Fork, Rung::Rewind];

/// A child lists its descriptors and its shared writable memory, and the parent prints the list.
const LISTS: &str = "pipe my $from, my $to or die; my $kid = fork;
if (!$kid) {
    close $from;
    opendir my $files, '/proc/self/fd';
    print $to map { readlink(qq{/proc/self/fd/$_}), qq{\\n} } sort grep { $_ > 2 } readdir $files;
    open my $maps, '<', '/proc/self/maps';
    print $to grep { / rw-s / } <$maps>;
    close $to;
    require POSIX; POSIX::_exit(0);
}
close $to; print <$from>; waitpid $kid, 0;";

/// A child that reads its request's data after the worker has served other requests.
const REMEMBERS: &str = "my $r = Apache2::RequestUtil->request;
print 'parent';
my $kid = $r->args eq 'first' ? fork : 1;
if (!$kid) {
    close STDOUT;
    for (1 .. 6_000) { last if -e $r->document_root . '/go'; select undef, undef, undef, 0.01 }
    open my $out, '>', $r->document_root . '/remembered';
    print $out $r->unparsed_uri, ' ', $r->headers_in->get('X-Mark');
    close $out;
    require POSIX; POSIX::_exit(0);
}";

#[test]
fn child_of_a_script_holds_nothing_of_the_server() {
    let server = Server::builder()
        .file("scripts/lists.pl", &plain(LISTS))
        .ladder()
        .conf(&workers(1))
        .start();
    for rung in RUNGS {
        for round in 0..2 {
            let list = server.get(&rung.url("lists.pl")).expect(200);
            assert!(list.contains("pipe:"), "{}: {list}", rung.name());
            for word in ["socket:", "memfd:mehari-", "eventfd"] {
                let found: Vec<&str> = list.lines().filter(|line| line.contains(word)).collect();
                assert!(found.is_empty(), "{} {round}: {found:?}", rung.name());
            }
        }
    }
}

#[test]
fn programs_get_only_the_standard_descriptors() {
    const LIST: &str = "ls -l /proc/self/fd | grep -v /proc/ | grep -c -- '->'";
    let handler = format!(
        "package Lists;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse Apache2::SubProcess ();\n\
         sub handler {{ my $r = shift; $r->content_type('text/plain');\n\
         my $out = $r->spawn_proc_prog('/bin/sh', ['-c', q{{{LIST}}}]); $r->print(<$out>); 0 }}\n1;\n"
    );
    let server = Server::builder()
        .file("lib/Lists.pm", &handler)
        .file("scripts/system.pl", &plain(&format!("system q{{{LIST}}};")))
        .file("scripts/exec.pl", &plain(&format!("exec q{{{LIST}}};")))
        .file("scripts/backticks.pl", &plain(&format!("print `{}`;", LIST.replace('$', "\\$"))))
        .file("scripts/piped.pl", &plain(&format!("open my $in, '-|', q{{{LIST}}}; print <$in>;")))
        .file(
            "scripts/spawned.pl",
            &plain(&format!("use Apache::SubProcess; my ($in, $out) = Apache->request->spawn_proc_prog('/bin/sh', ['-c', q{{{LIST}}}]); print <$out>;")),
        )
        .ladder()
        .conf(&workers(1))
        .conf("PerlSwitches -I@ROOT@/lib\n<Location /handler>\n    SetHandler modperl\n    PerlResponseHandler Lists\n</Location>\n")
        .start();
    assert_eq!(server.get("/handler").expect(200), "3\n");
    for script in ["system.pl", "exec.pl", "backticks.pl", "piped.pl"] {
        for rung in RUNGS {
            let count = server.get(&rung.url(script)).expect(200);
            assert_eq!(count, "3\n", "{script} on {}", rung.name());
        }
    }
    let url = Rung::Registry.url("spawned.pl");
    assert_eq!(server.get(&url).expect(200), "3\n");
}

#[test]
fn child_keeps_the_data_of_its_own_request() {
    let server = Server::builder()
        .file("scripts/remembers.pl", &plain(REMEMBERS))
        .ladder()
        .conf(&workers(1))
        .conf("PerlModule Apache2::RequestRec Apache2::RequestUtil Apache2::RequestIO APR::Table\n")
        .start();
    let url = format!("{}?first", Rung::Registry.url("remembers.pl"));
    let first = server.send(&Request::get(&url).field("X-Mark", "one"));
    assert_eq!(first.expect(200), "parent");
    for _ in 0..20 {
        let other = Rung::Registry.url("remembers.pl?other");
        server.send(&Request::get(&other).field("X-Mark", "two"));
    }
    let_go(&server);
    let remembered = || server.site.read("htdocs/remembered");
    let is_there = eventually(PATIENCE, || !remembered().is_empty());
    assert!(is_there, "the child wrote nothing");
    assert_eq!(remembered(), format!("{url} one"));
    assert!(!server.log.text().contains("was ended by signal"));
}

/// The ways of the mod_perl guide in which a script starts a process that goes on without it.
const DETACHED: &[(&str, &str)] = &[
    (
        "ignored child and setsid",
        "use POSIX 'setsid'; $SIG{CHLD} = 'IGNORE'; defined(my $kid = fork) or die; if (!$kid) { setsid or die; LIVE }",
    ),
    (
        "double fork and setsid",
        "use POSIX 'setsid'; defined(my $kid = fork) or die; if (!$kid) { fork and POSIX::_exit(0); setsid or die; LIVE } waitpid $kid, 0;",
    ),
    ("a program in a session of its own", "system \"setsid sh -c 'echo \\$\\$ > NOTE; cd /; exec sleep 300' >/dev/null 2>&1 </dev/null &\";"),
];

const LIVE: &str = "open my $note, '>', 'NOTE'; print $note $$; close $note; chdir '/'; \
    open STDIN, '<', '/dev/null'; open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null'; \
    sleep 300; POSIX::_exit(0)";

#[test]
fn detached_child_survives_reload_and_stop_and_the_port_is_free() {
    let mut builder = Server::builder()
        .ladder()
        .conf(&workers(2))
        .leaves_processes();
    let notes = builder.folder_of("htdocs");
    let name = |way: usize, rung: Rung| format!("detached.{way}.{}", rung.name());
    for (way, (_, body)) in DETACHED.iter().enumerate() {
        for rung in RUNGS {
            let note = notes.join(name(way, rung));
            let body = body
                .replace("LIVE", LIVE)
                .replace("NOTE", &note.to_string_lossy());
            let script = format!("scripts/{}.pl", name(way, rung));
            builder = builder.file(&script, &plain(&format!("{body} print 'parent';")));
        }
    }
    let mut server = builder.start();
    let mut children: Vec<(String, Pid)> = Vec::new();
    for (way, (title, _)) in DETACHED.iter().enumerate() {
        for rung in RUNGS {
            let answer = server.get(&rung.url(&format!("{}.pl", name(way, rung))));
            assert_eq!(answer.expect(200), "parent", "{title} on {}", rung.name());
            let note = format!("htdocs/{}", name(way, rung));
            let mut pid = None;
            let is_noted = eventually(PATIENCE, || {
                pid = server.site.read(&note).trim().parse().ok();
                pid.is_some()
            });
            assert!(is_noted, "{title} on {} did not start", rung.name());
            children.extend(pid.map(|pid| (format!("{title} on {}", rung.name()), pid)));
        }
    }
    let all_live = |when: &str| {
        for (title, pid) in &children {
            assert!(processes::is_alive(*pid), "{title} is gone after {when}");
        }
    };
    all_live("the requests");
    let zombies = || {
        let all = processes::descendants(server.pid());
        all.iter().filter(|process| process.state == 'Z').count()
    };
    assert!(
        eventually(PATIENCE, || zombies() == 0),
        "{} zombies",
        zombies()
    );
    let before = server.workers();
    server.signal(Signal::Hup);
    let is_reloaded = eventually(PATIENCE, || {
        let now = server.workers();
        !now.is_empty() && now.iter().all(|pid| !before.contains(pid))
    });
    assert!(is_reloaded, "no reload");
    all_live("a reload");
    let port = server.port();
    server.signal(Signal::Term);
    assert!(
        server.wait().is_some(),
        "the stop waits for detached children"
    );
    all_live("a stop");
    let next = Server::builder()
        .ladder()
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .without_listen()
        .conf(&format!("Listen 127.0.0.1:{port}\n"))
        .start();
    assert_eq!(next.port(), port);
    assert_eq!(
        next.get(&Rung::Registry.url("hello.pl")).expect(200),
        "Hello"
    );
    for (_, pid) in &children {
        processes::signal(*pid, Signal::Kill);
    }
}
