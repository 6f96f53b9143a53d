//! Tests access logs in the site's formats: several logs, logs with a condition, and logs to a
//! program.

use mehari_harness::scripts::plain;
use mehari_harness::{eventually, needs, Request, Server, PATIENCE};

#[test]
fn several_logs_have_formats_conditions_and_programs_of_their_own() {
    let mut server = Server::builder()
        .file("scripts/teapot.pl", "#!/usr/bin/perl\nprint \"Status: 418\\nContent-Type: text/plain\\nX-Kind: green\\n\\ntea\";\n")
        .file("scripts/plain.pl", &plain("print 'x';"))
        .file("htdocs/quiet/page.txt", "0123456789")
        .ladder()
        .conf(
            "LogFormat \"%m %U%q %>s %B %I %k %X %{User-Agent}i %{X-Kind}o %{KIND}e %v:%p\" full\n\
             LogFormat \"%f %R\" where\n\
             CustomLog logs/full.log full\n\
             CustomLog logs/where.log where env=!QUIET\n\
             CustomLog logs/quiet.log \"%U\" env=QUIET\n\
             CustomLog \"|$cat > @ROOT@/logs/piped.log\" \"%r\"\n\
             ServerName www.example.test\nSetEnv KIND herbal\n\
             <Location /quiet>\nSetEnv QUIET 1\n</Location>\n",
        )
        .start();
    let port = server.port();
    let mut connection = server.connect();
    let request = Request::get("/registry/teapot.pl?a=1").field("User-Agent", "a \"camel\"");
    connection.send(&request).expect("an answer").expect(418);
    let request = Request::get("/quiet/page.txt");
    connection.send(&request).expect("an answer").expect(200);
    let request = Request::post("/registry/plain.pl", *b"12345");
    connection.send(&request).expect("an answer").expect(200);
    server.signal(rustix::process::Signal::Term);
    assert!(server.wait().is_some());
    let lines = |name: &str| -> Vec<String> {
        server.site.read(name).lines().map(str::to_string).collect()
    };
    let full = lines("logs/full.log");
    let size = |text: &str| {
        text.split(' ')
            .nth(4)
            .expect("a size")
            .parse::<usize>()
            .expect("a size")
    };
    assert_eq!(full.len(), 3, "{full:?}");
    let shown = |line: &str| {
        let words: Vec<&str> = line
            .split(' ')
            .enumerate()
            .filter(|(at, _)| *at != 4)
            .map(|(_, word)| word)
            .collect();
        words.join(" ")
    };
    assert_eq!(shown(&full[0]), format!("GET /registry/teapot.pl?a=1 418 3 0 + a \\\"camel\\\" green herbal www.example.test:{port}"));
    assert_eq!(
        shown(&full[1]),
        format!("GET /quiet/page.txt 200 10 1 + - - herbal www.example.test:{port}")
    );
    assert!(
        size(&full[0]) > 60 && size(&full[2]) > size(&full[1]),
        "{full:?}"
    );
    let root = server.site.root().display().to_string();
    assert_eq!(
        lines("logs/where.log"),
        [
            format!("{root}/scripts/teapot.pl script on the rung `registry`"),
            format!("{root}/scripts/plain.pl script on the rung `registry`"),
        ]
    );
    assert_eq!(lines("logs/quiet.log"), ["/quiet/page.txt"]);
    assert_eq!(
        lines("logs/piped.log").len(),
        3,
        "{:?}",
        lines("logs/piped.log")
    );
}

#[test]
fn log_program_that_ends_is_started_again_and_lost_lines_are_reported() {
    let server = Server::builder()
        .file("htdocs/page.txt", "x")
        // The program reads one line and ends.
        .conf("CustomLog \"|$read line; echo \\\"$line\\\" >> @ROOT@/logs/lines.log\" \"%U%q\"\n")
        .start();
    let arrived = |words: &str| server.site.read("logs/lines.log").contains(words);
    let mut number = 0;
    for _ in 0..3 {
        let before = number;
        let came = eventually(PATIENCE, || {
            number += 1;
            server.get(&format!("/page.txt?{number}")).expect(200);
            (before + 1..=number).any(|n| arrived(&format!("/page.txt?{n}\n")))
        });
        assert!(
            came,
            "nothing after {before}: {}",
            server.site.read("logs/lines.log")
        );
    }
}

/// Over both protocols, one request completes, one client leaves, and the end of the server cuts
/// one response off.
#[test]
fn request_has_one_line_however_it_ends() {
    needs!("curl");
    let waits = "open my $note, '>', \"$ENV{DOCUMENT_ROOT}/begun.$ENV{QUERY_STRING}\" or die $!;\n\
        for (1 .. 6000) { last if $ENV{QUERY_STRING} =~ /gone/ && -e \"$ENV{DOCUMENT_ROOT}/go\"; select undef, undef, undef, 0.1 }";
    let mut server = Server::builder()
        .file("scripts/plain.pl", &plain("print 'x';"))
        .file("scripts/waits.pl", &plain(waits))
        .ladder()
        .conf("LogFormat \"%U%q\" short\nCustomLog @ROOT@/short.log short\n")
        .conf("Timeout 600\nGracefulShutdownTimeout 1\n")
        .start();
    let (mut clients, mut expected) = (Vec::new(), Vec::new());
    for protocol in ["--http1.1", "--http2-prior-knowledge"] {
        for (script, end) in [("plain", "answered"), ("waits", "gone"), ("waits", "cut")] {
            let path = format!("/registry/{script}.pl?{end}.{}", &protocol[2..7]);
            let url = format!("http://{}{path}", server.address);
            let mut curl = std::process::Command::new("curl");
            curl.args(["-s", "-o", "/dev/null", protocol, &url]);
            let mut client = curl.spawn().expect("curl runs");
            expected.push(path);
            if script == "plain" {
                assert!(client.wait().expect("it ends").success());
                continue;
            }
            let begun = format!("htdocs/begun.{end}.{}", &protocol[2..7]);
            let begun = server.site.path(&begun);
            assert!(eventually(PATIENCE, || begun.exists()), "{begun:?}");
            if end == "gone" {
                client.kill().expect("it is killed");
            }
            clients.push(client);
        }
    }
    server.site.write("htdocs/go", "");
    let gone = || server.site.read("short.log").matches("gone").count() == 2;
    assert!(eventually(PATIENCE, gone), "{}", server.log.text());
    server.signal(rustix::process::Signal::Term);
    assert!(server.wait().is_some(), "{}", server.log.text());
    for mut client in clients {
        client.wait().expect("it ends");
    }
    let log = server.site.read("short.log");
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}
