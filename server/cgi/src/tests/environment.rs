//! Tests a program's environment: variables, arguments, stdin, folder, descriptors.

use super::*;
use std::io::{Seek, SeekFrom, Write};

#[tokio::test]
async fn the_environment_has_exactly_the_documented_variables() {
    let rig = Rig::new();
    let script = rig.perl(
        "env.cgi",
        r#"print "Content-Type: text/plain\n\n"; print "$_=$ENV{$_}\n" for sort keys %ENV;"#,
    );
    let request = Request {
        query: "q=1",
        fields: &[
            (b"Host", b"example.test"),
            (b"Proxy", b"http://evil.test"),
            (b"Authorization", b"Basic x"),
            (b"Cookie", b"a=1"),
            (b"Cookie", b"b=2"),
            (b"Accept", b"a"),
            (b"accept", b"b"),
        ],
        ..Request::default()
    };
    let response = rig.ask(&script, request).await.expect("a response");
    let text = response.text();
    let mut lines: Vec<&str> = text.lines().collect();
    let unique = lines.iter().position(|line| line.starts_with("UNIQUE_ID="));
    let unique = lines.remove(unique.expect("UNIQUE_ID"));
    assert!(unique.ends_with("-4711"), "{unique}");
    let path = format!("PATH={}", std::env::var("PATH").expect("PATH"));
    let tz = std::env::var("TZ").map(|tz| format!("TZ={tz}")).ok();
    let file = format!("SCRIPT_FILENAME={}", script.display());
    let mut expected = vec![
        "COLOUR=red",
        "DOCUMENT_ROOT=/srv/www",
        "GATEWAY_INTERFACE=CGI/1.1",
        "HTTP_ACCEPT=a, b",
        "HTTP_COOKIE=a=1; b=2",
        "HTTP_HOST=example.test",
        &path,
        "PATH_INFO=/x y",
        "PATH_TRANSLATED=/srv/www/x y",
        "QUERY_STRING=q=1",
        "REMOTE_ADDR=127.0.0.2",
        "REMOTE_PORT=40000",
        "REQUEST_METHOD=GET",
        "REQUEST_SCHEME=http",
        "REQUEST_URI=/cgi-bin/a/x%20y?q=1",
        &file,
        "SCRIPT_NAME=/cgi-bin/a",
        "SERVER_ADDR=127.0.0.1",
        "SERVER_NAME=example.test",
        "SERVER_PORT=8080",
        "SERVER_PROTOCOL=HTTP/1.1",
        "SERVER_SOFTWARE=Mehari/test",
    ];
    expected.extend(tz.as_deref());
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn an_indexed_query_becomes_arguments() {
    let rig = Rig::new();
    let script = rig.perl("argv.cgi", r#"print "A: b\n\n", join "|", @ARGV;"#);
    for (query, expected) in [("one+t%20wo+$x", "one|t wo|\\$x"), ("a=b", ""), ("", "")] {
        let request = Request {
            query,
            ..Request::default()
        };
        let response = rig.ask(&script, request).await.expect("a response");
        assert_eq!(response.text(), expected);
    }
}

/// A script that prints the length and a checksum of stdin.
const DIGEST: &str = r#"
    binmode STDIN; my ($n, $sum) = (0, 0);
    while (my $got = read STDIN, my $part, 65536) { $n += $got; $sum = ($sum + unpack "%32C*", $part) % 2**32 }
    print "A: b\n\n$ENV{CONTENT_LENGTH} $n $sum";"#;

fn digest(bytes: &[u8]) -> String {
    let sum = bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>() % (1 << 32);
    format!("{0} {0} {sum}", bytes.len())
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 31 % 251) as u8).collect()
}

#[tokio::test]
async fn a_body_in_memory_reaches_stdin() {
    let rig = Rig::new();
    let script = rig.perl("digest.cgi", DIGEST);
    for length in [1, 4096, 65_536] {
        let body = pattern(length);
        let request = Request {
            method: "POST",
            body: Body::Memory(&body),
            ..Request::default()
        };
        let response = rig.ask(&script, request).await.expect("a response");
        assert_eq!(response.text(), digest(&body));
    }
}

#[tokio::test]
async fn a_body_in_a_file_reaches_stdin_from_its_start() {
    let rig = Rig::new();
    let script = rig.perl("digest.cgi", DIGEST);
    let body = pattern(5 << 20);
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(&body).expect("written");
    file.seek(SeekFrom::End(0)).expect("sought");
    let request = Request {
        method: "POST",
        body: Body::File(file.into(), body.len() as u64),
        ..Request::default()
    };
    let response = rig.ask(&script, request).await.expect("a response");
    assert_eq!(response.text(), digest(&body));
}

#[tokio::test]
async fn a_program_that_does_not_read_the_body_can_answer() {
    let rig = Rig::new();
    let script = rig.shell("deaf.cgi", "echo; echo heard nothing\n");
    let body = pattern(60_000);
    let request = Request {
        method: "POST",
        body: Body::Memory(&body),
        ..Request::default()
    };
    let response = rig.ask(&script, request).await.expect("a response");
    assert_eq!(response.text(), "heard nothing\n");
}

#[tokio::test]
async fn a_program_runs_in_its_folder_with_three_descriptors_and_its_own_group() {
    let rig = Rig::new();
    // The program must not see this listener or any other descriptor of ours.
    let _listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let script = rig.perl(
        "self.cgi",
        r#"use Cwd; opendir my $dir, "/proc/self/fd";
        my %fd = map { ($_ => readlink "/proc/self/fd/$_") } grep { /\d/ } readdir $dir;
        delete @fd{0, 1, 2};
        # Perl's own: the folder that is being listed and the file that is being run.
        my @strange = grep { defined && !m{/fd$} && !m{self\.cgi$} } values %fd;
        print "A: b\n\n", join "|", getcwd, getpgrp == $$, -p STDOUT, scalar(<STDIN>) // "eof", @strange;"#,
    );
    let response = rig.get(&script).await.expect("a response");
    let folder = rig.folder.path().canonicalize().expect("a folder");
    assert_eq!(response.text(), format!("{}|1|1|eof", folder.display()));
}

#[tokio::test]
async fn inherited_descriptors_are_closed_for_programs() {
    let file = tempfile::tempfile().expect("a file");
    let flags = rustix::io::FdFlags::empty();
    rustix::io::fcntl_setfd(&file, flags).expect("inheritable now");
    let rig = Rig::new();
    let flags = rustix::io::fcntl_getfd(&file).expect("flags");
    assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    drop(rig);
}

#[tokio::test]
async fn a_nul_in_the_request_is_refused() {
    let rig = Rig::new();
    let script = rig.shell("a.cgi", "echo; echo\n");
    let request = Request {
        fields: &[(b"X-A", b"a\0b")],
        ..Request::default()
    };
    let error = rig.start(&script, request).err().expect("refused");
    assert_eq!(error.status(), 400);
}
