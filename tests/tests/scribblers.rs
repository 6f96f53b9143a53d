//! Tests scripts that overwrite the mailbox of their own worker. No request runs twice or gets the
//! response of another request, and the next request runs in a sound worker.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{Connection, Request, Rung, Server, PATIENCE};

/// The offsets of the words in a mailbox (`perl/xs/mailbox/wire.h`).
const PLACES: &str =
    "my %place = (word => 64, written => 192, read => 256, shown => 392, slot => 4096, ring => 659456);\n";

/// Writes through the kernel, as a wild pointer of C code would: `poke(place, template, value)`.
const POKE: &str = "\
    open my $maps, '<', '/proc/self/maps' or die $!;\n\
    my ($base) = map { /^([0-9a-f]+)-.*mehari-mailbox/ ? hex $1 : () } <$maps>;\n\
    open my $memory, '+<', '/proc/self/mem' or die $!;\n\
    sub peek { sysseek $memory, $base + $_[0], 0; sysread $memory, my $bytes, 8 or die $!; unpack 'Q', $bytes }\n\
    sub poke { sysseek $memory, $base + $_[0], 0; syswrite($memory, pack 'Q', $_[1]) // 'refused' }\n\
    open my $ran, '>>', \"$ENV{DOCUMENT_ROOT}/ran\" or die $!;\n\
    syswrite $ran, \"$ENV{QUERY_STRING}\\n\";\n";

fn site(scribble: &str) -> Server {
    let script = plain(&format!("{PLACES}{POKE}{scribble}\nprint 'scribbled';"));
    Server::builder()
        .file("scripts/scribbles.pl", &script)
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .conf(&workers(1))
        .start()
}

/// Requests a script with these statements three times. Checks that the site works after each
/// request, and that the script has run once for each. Returns the statuses.
#[track_caller]
fn survives(scribble: &str) -> Vec<u16> {
    let server = site(scribble);
    let mut statuses = Vec::new();
    for time in 0..3 {
        server.get("/registry/hello.pl").expect(200);
        let url = format!("{}?{time}", Rung::Registry.url("scribbles.pl"));
        statuses.push(server.get(&url).status);
        let next = server.get("/registry/hello.pl");
        assert_eq!(next.expect(200), "Hello", "after {scribble}");
    }
    if statuses.contains(&502) {
        let says_why =
            |line: &str| line.contains("and is replaced") || line.contains("was ended by");
        let said = server.log.wait_for(PATIENCE, says_why);
        assert!(said.is_some(), "{scribble}: {}", server.log.text());
    }
    let ran = server.site.read("htdocs/ran");
    assert_eq!(ran, "0\n1\n2\n", "{scribble}: {}", server.log.text());
    statuses
}

#[test]
fn request_is_run_once_when_its_worker_claims_not_to_have_it() {
    survives("poke($place{word}, peek($place{word}) - (1 << 32));");
    survives("poke($place{word}, peek($place{word}) - (1 << 32)); kill 9, $$;");
}

/// If a script falsifies everything in its mailbox and ends before the front reads the mailbox, the
/// front cannot know that the request has begun. It runs the request once more.
#[test]
fn script_that_falsifies_its_mailbox_consistently_runs_at_most_twice() {
    let lie =
        "poke($place{word}, peek($place{word}) - (1 << 32)); poke($place{shown}, 0); kill 9, $$;";
    let server = site(lie);
    for time in 0..3 {
        server.get("/registry/hello.pl").expect(200);
        let url = format!("{}?{time}", Rung::Registry.url("scribbles.pl"));
        server.get(&url).expect(502);
    }
    let ran = server.site.read("htdocs/ran");
    for time in ["0", "1", "2"] {
        let times = ran.lines().filter(|line| *line == time).count();
        assert!((1..=2).contains(&times), "{ran}: {}", server.log.text());
    }
}

/// The front reads every mailbox from time to time. After that, a script cannot hide that its
/// request has begun.
#[test]
fn script_cannot_hide_a_request_that_the_front_has_seen_begin() {
    let statuses = survives(
        "select undef, undef, undef, 0.4;\n\
         poke($place{word}, peek($place{word}) - (1 << 32));\n\
         select undef, undef, undef, 30;",
    );
    assert_eq!(statuses, [502; 3]);
}

#[test]
fn request_that_nobody_made_is_not_run() {
    survives("poke($place{word}, peek($place{word}) + 1);");
    survives("poke($place{word}, peek($place{word}) + 4);");
    survives("poke($place{word}, 0);");
    survives("poke($place{word}, ~0);");
}

#[test]
fn no_response_is_read_twice_or_before_it_is_written() {
    for statuses in [
        survives("poke($place{read}, 0);"),
        survives("poke($place{written}, 8);"),
        survives("poke($place{written}, peek($place{written}) + (1 << 20));"),
    ] {
        assert_eq!(statuses, [502; 3]);
    }
    survives("poke($place{written}, peek($place{written}) + 64);");
    survives("poke($place{ring} + 8 * $_, ~0) for 0 .. 32767;");
}

#[test]
fn script_cannot_overwrite_requests_in_its_mailbox() {
    let server = site("print poke($place{slot} + 163840 * $_, 1), ' ' for 0 .. 3;");
    let page = server.get("/registry/scribbles.pl").expect(200);
    assert_eq!(page, "refused refused refused refused scribbled");
}

/// Faulty contents of a ring: a record of an unknown kind, a record with an impossible length, and
/// a record that may not come yet.
const IMPOSSIBLE: &[&str] = &[
    "my $at = peek($place{written}); poke($place{ring} + $at % 262144, 99 << 32); \
     poke($place{written}, $at + 8);",
    "my $at = peek($place{written}); poke($place{ring} + $at % 262144, (1 << 32) | 70000); \
     poke($place{written}, $at + 8);",
    "my $at = peek($place{written}); poke($place{ring} + $at % 262144, 3 << 32); \
     poke($place{written}, $at + 8);",
];

#[test]
fn impossible_record_is_a_502_at_once_and_requests_behind_it_run_once_elsewhere() {
    let counts = plain(
        "open my $ran, '>>', \"$ENV{DOCUMENT_ROOT}/ran\" or die $!; syswrite $ran, \
         \"$ENV{QUERY_STRING}\\n\"; print 'ran';",
    );
    let scribbles: String = IMPOSSIBLE
        .iter()
        .enumerate()
        .map(|(number, scribble)| format!("if ($number == {number}) {{ {scribble} }}\n"))
        .collect();
    // After this, the script waits, so the worker begins no further request.
    let scribbles = format!(
        "{PLACES}{POKE}my ($number) = $ENV{{QUERY_STRING}} =~ /(\\d+)$/;\n{scribbles}select \
         undef, undef, undef, 600;"
    );
    let server = Server::builder()
        .file("scripts/scribbles.pl", &plain(&scribbles))
        .file("scripts/counts.pl", &counts)
        .ladder()
        .conf(&workers(2))
        .conf("Timeout 600\nGracefulShutdownTimeout 600\n")
        .start();
    let mut expected = Vec::new();
    for round in 0..2 {
        for kind in 0..IMPOSSIBLE.len() {
            let mut asked: Vec<(u16, Connection)> = Vec::new();
            for number in 0..8 {
                let name = format!("{round}.{number}.{kind}");
                let (script, status) = match number {
                    2 => ("scribbles", 502),
                    _ => ("counts", 200),
                };
                let mut connection = server.connect();
                let target = format!("/registry/{script}.pl?{name}");
                connection.write(&Request::get(&target).bytes());
                asked.push((status, connection));
                expected.push(name);
            }
            for (status, connection) in &mut asked {
                let answer = connection.read_answer("GET").expect("an answer");
                answer.expect(*status);
            }
        }
    }
    let ran = server.site.read("htdocs/ran");
    let mut ran: Vec<&str> = ran.lines().collect();
    ran.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ran, expected, "{}", server.log.text());
}
