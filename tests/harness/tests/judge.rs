//! Tests that the harness fails a test whose server leaves something behind.

use mehari_harness::Server;
use std::os::unix::fs::PermissionsExt;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// A program that imitates `mehari serve` and leaves behind what its configuration says.
const FAKE: &str = r#"#!/usr/bin/perl
use strict;
use IO::Socket::INET;
use POSIX ();
my $listener = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1:0') or die $!;
my $how = shift @ARGV;
($how) = grep { /^--fake=/ } @ARGV;
$how =~ s/^--fake=// if defined $how;
$| = 1;
print "mehari: serving http://127.0.0.1:", $listener->sockport, "/\n";
# Acts at once: a signal that Perl keeps for the next statement is lost on one that comes just
# before accept sleeps.
my $end = POSIX::SigAction->new(sub { POSIX::_exit($how eq 'status' ? 3 : 0) });
POSIX::sigaction(POSIX::SIGTERM, $end) or die $!;
my @kept;
while (1) {
    my $client = $listener->accept or next;
    my $line = <$client>;
    open $kept[@kept], '<', '/dev/null' if $how eq 'leak';
    push @kept, $client if $how eq 'socket';
    if ($how eq 'stray') {
        if (!fork) { close $listener; exec 'sleep', '30' }
    }
    print STDERR "[Sat Nov 21 12:00:00 2026] [alert] something burns\n" if $how eq 'alert';
    print "a second line\n" if $how eq 'chatter';
    print $client "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    close $client unless $how eq 'socket';
}
"#;

/// Runs a server of this kind and returns the harness's message at the end of the test.
fn verdict(how: &str) -> Option<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("mehari");
    std::fs::write(&program, FAKE).expect("own folder");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("own file");
    let server = Server::builder()
        .program(&program)
        .args(&[&format!("--fake={how}")])
        .start();
    assert_eq!(server.get("/").expect(200), "ok");
    let outcome = catch_unwind(AssertUnwindSafe(|| drop(server)));
    outcome.err().map(|panic| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(_) => "a panic without words".to_owned(),
    })
}

#[test]
fn server_that_leaves_nothing_behind_passes() {
    assert_eq!(verdict("well"), None);
}

#[test]
fn every_kind_of_remains_fails_the_test() {
    let remains = [
        ("stray", "stray processes"),
        ("leak", "descriptors leaked"),
        ("socket", "descriptors leaked"),
        ("alert", "something burns"),
        ("chatter", "stdout is not one line"),
        ("status", "exit status: 3"),
    ];
    // The cases run at the same time, because the harness waits for each server to clean up.
    std::thread::scope(|scope| {
        for (how, words) in remains {
            scope.spawn(move || {
                let told = verdict(how).unwrap_or_else(|| panic!("{how} went unnoticed"));
                assert!(told.contains(words), "{how}: {told}");
            });
        }
    });
}
