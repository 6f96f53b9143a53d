//! Tests that a script's changes to its process do not reach other requests.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{Rung, Server};

/// Each row has a name, a script that changes its process, and a script that prints what a later
/// request sees of the change.
const LEFT: &[(&str, &str, &str)] = &[
    (
        "ignored signals",
        "$SIG{TERM} = 'IGNORE'; $SIG{PIPE} = sub { 1 }; $SIG{CHLD} = 'IGNORE';",
        "my $kid = fork; if (!$kid) { exec 'true' } print waitpid($kid, 0) == $kid ? 'ok' : 'ignored', join ',', map { $SIG{$_} // '' } qw(TERM PIPE CHLD);",
    ),
    (
        "blocked signals",
        "use POSIX (); POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(POSIX::SIGUSR1()));",
        "open my $s, '<', '/proc/self/status'; print grep /^SigBlk/, <$s>;",
    ),
    (
        "a timer",
        "use Time::HiRes (); Time::HiRes::setitimer(Time::HiRes::ITIMER_VIRTUAL(), 0.2);",
        "use Time::HiRes (); print join ',', map { 0 + $_ } Time::HiRes::getitimer(Time::HiRes::ITIMER_VIRTUAL());",
    ),
    (
        "an alarm",
        "use Time::HiRes (); Time::HiRes::ualarm(100_000);",
        "select undef, undef, undef, 0.2; print 'ok';",
    ),
    ("the mask of files", "umask 0777;", "printf '%o', umask;"),
    (
        "names and counters of formats",
        "$^ = 'OTHER_TOP'; $~ = 'OTHER'; $= = 10; $- = 3; $% = 7;",
        "print join ',', $^, $~, $=, $-, $%;",
    ),
    (
        "the folder and the program's name",
        "chdir '/'; $0 = 'changed';",
        "use Cwd; print getcwd(), ' ', $0 =~ m{/seen\\d+\\.pl$} ? 'named' : $0;",
    ),
    (
        "the process group",
        "setpgrp(0, getpgrp(getppid));",
        "print getpgrp == $$ ? 'leader' : 'member';",
    ),
    (
        "closed descriptors",
        "use POSIX (); POSIX::close($_) for 3 .. 200;",
        "print 'ok', `printf x`; system 'printf y';",
    ),
    (
        "closed standard descriptors",
        "use POSIX (); print 'x'; POSIX::close($_) for 0 .. 2;",
        "print 'ok', <STDIN> // '', `printf x`; system 'printf y'; print STDERR \"z\\n\";",
    ),
    (
        "a descriptor closed under another name",
        "for (3 .. 40) { open my $f, '<&=', $_ or next; close $f }",
        "print 'ok'; system 'printf y';",
    ),
    (
        "descriptors replaced",
        "use POSIX (); open my $n, '>', '/dev/null'; POSIX::dup2(fileno $n, $_) for 0 .. 60;",
        "print 'ok'; system 'printf y';",
    ),
    (
        "separators, @ARGV and @INC",
        "$| = 1; $, = ','; $\\ = '!'; $; = 'x'; $/ = undef; @ARGV = (1); push @INC, '/nowhere';",
        "print 'a', 'b'; print scalar(grep { $_ eq '/nowhere' } @INC), \"@ARGV\";",
    ),
];

#[test]
fn nothing_of_the_process_that_a_script_changed_reaches_another_request() {
    let mut builder = Server::builder().ladder().conf(&workers(1));
    for (number, (_, leave, see)) in LEFT.iter().enumerate() {
        builder = builder
            .file(&format!("scripts/leave{number}.pl"), &plain(leave))
            .file(&format!("scripts/seen{number}.pl"), &plain(see));
    }
    let server = builder.start();
    let mut wrong = Vec::new();
    for (number, (name, _, _)) in LEFT.iter().enumerate() {
        for rung in [Rung::Fork, Rung::PerlRun, Rung::Registry] {
            let (leave, see) = (
                rung.url(&format!("leave{number}.pl")),
                rung.url(&format!("seen{number}.pl")),
            );
            let before = server.get(&see).expect(200);
            // The second round shows that a change can be made again after it was undone.
            for _ in 0..2 {
                server.get(&leave);
                let after = server.get(&see);
                if after.status != 200 || after.text() != before {
                    wrong.push(format!(
                        "{name} on {}: {before:?} became {} {:?}",
                        rung.name(),
                        after.status,
                        after.text()
                    ));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\n{}",
        wrong.join("\n"),
        server.log.text()
    );
}

/// Runs a script that closes descriptors on each shared rung. `check` gets the process of this
/// request and of the next one.
fn around_closing(close: &str, check: impl Fn(&str, &str, &str)) -> Server {
    let server = Server::builder()
        .file("scripts/close.pl", &plain(close))
        .file("scripts/pid.pl", &plain("print $$;"))
        .ladder()
        .conf(&workers(1))
        .start();
    for rung in Rung::SHARED {
        let first = server.get(&rung.url("close.pl")).expect(200);
        let next = server.get(&rung.url("pid.pl")).expect(200);
        check(&first, &next, rung.name());
    }
    server
}

#[test]
fn worker_whose_own_descriptors_are_closed_is_replaced_before_it_serves_again() {
    let close = "for (3 .. 40) { open my $f, '<&=', $_ or next; close $f } print $$;";
    let server = around_closing(close, |first, next, rung| assert_ne!(first, next, "{rung}"));
    server.log.expect("closed descriptors that are not its own");
}

#[test]
fn script_cannot_close_what_a_fresh_process_does_not_have() {
    let close = "use POSIX (); my $n = grep { defined POSIX::close($_) } 3 .. 200; print \"$$\";";
    around_closing(close, |first, next, rung| assert_eq!(first, next, "{rung}"));
}
