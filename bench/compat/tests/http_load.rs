//! Compares the output of `mehari http_load` with templates. No distribution has the original
//! program. The templates come from its source and from the sample in the mod_perl guide.
#![allow(clippy::unwrap_used)]

mod stand;

use stand::line::Places;
use stand::programs::{link, run, Ran};
use stand::server::Server;
use stand::shape;
use std::path::Path;

/// Returns the expected report of a run with the given lines of status codes. `between` holds the
/// lines before them.
fn report(between: &[&str], codes: &[&str]) -> String {
    let mut lines = vec![
        "# fetches, # max parallel, # bytes, in # seconds",
        "# mean bytes/connection",
        "# fetches/sec, # bytes/sec",
        "msecs/connect: # mean, # max, # min",
        "msecs/first-response: # mean, # max, # min",
    ];
    lines.extend(between);
    lines.push("HTTP response codes:");
    lines.extend(codes);
    lines.join("\n") + "\n"
}

const OK: &str = " code # -- #";
const USAGE: &str = "usage: http_load [-checksum] [-throttle] [-proxy host:port] [-verbose] [-timeout secs] [-sip sip_file]\n [-cipher str]\n -parallel N | -rate N [-jitter]\n -fetches N | -seconds N\n url_file\nOne start specifier, either -parallel or -rate, is required.\nOne end specifier, either -fetches or -seconds, is required.\n";

fn places(server: &Server, folder: &Path) -> Places<'static> {
    let url = format!("http://127.0.0.1:{}", server.port);
    let file = |name: &str, text: String| {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let of =
        |paths: &[&str]| -> String { paths.iter().map(|path| format!("{url}{path}\n")).collect() };
    Places {
        known: vec![
            ("one", file("one", of(&["/fixed"]))),
            ("two", file("two", of(&["/fixed", "/503"]))),
            ("slow", file("slow", of(&["/slow"]))),
            ("variable", file("variable", of(&["/variable"]))),
            ("hang", file("hang", of(&["/hang"]))),
            ("reset", file("reset", of(&["/reset"]))),
            (
                "gap",
                file("gap", format!("{}\n{}", of(&["/fixed"]), of(&["/fixed"]))),
            ),
            ("ftp", file("ftp", "ftp://127.0.0.1/\n".into())),
            (
                "nowhere",
                file("nowhere", "http://nosuch.invalid/\n".into()),
            ),
            (
                "closed",
                file(
                    "closed",
                    format!("http://127.0.0.1:{}/\n", server.refused_port),
                ),
            ),
            (
                "tls",
                file(
                    "tls",
                    format!("https://127.0.0.1:{}/fixed\n", server.tls_port),
                ),
            ),
            (
                "elsewhere",
                file("elsewhere", "http://elsewhere.test/fixed\n".into()),
            ),
            ("empty", file("empty", String::new())),
            ("sip", file("sip", "127.0.0.1\n127.0.0.2\n".into())),
            ("badsip", file("badsip", "here\n".into())),
            ("port", server.port.to_string()),
        ],
    }
}

fn http_load(places: &Places, folder: &Path, line: &str) -> Ran {
    run(&link(folder, "http_load"), &places.words(line), folder)
}

/// Returns the shape of a report without the line of rates, which only runs of more than 10 ms
/// have.
fn lasting(text: &str) -> Vec<String> {
    let mut lines = shape::of(text);
    lines.retain(|line| line != "# fetches/sec, # bytes/sec");
    lines
}

#[test]
fn a_run_of_a_second_reports_rates() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let places = places(&server, folder.path());
    let out = http_load(&places, folder.path(), "-r 40 -s 1 {one}").out_text();
    assert_eq!(shape::of(&out), shape::of(&report(&[], &[OK])), "{out}");
    let (counts, seconds) = out.split_once(" bytes, in ").unwrap();
    let fetches: u32 = counts.split(' ').next().unwrap().parse().unwrap();
    assert!((1..=40).contains(&fetches), "{out}");
    let seconds: f64 = seconds.split(' ').next().unwrap().parse().unwrap();
    assert!(seconds >= 1.0, "{out}");
}

#[test]
fn http_load_prints_the_lines_of_the_templates() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let places = places(&server, folder.path());
    let plain = report(&[], &[OK]);
    let two = report(&[], &[OK, OK]);
    let refused = "http://#.#:#/: Connection refused\n";
    let rows: Vec<(&str, i32, String, String)> = vec![
        ("-parallel 2 -fetches 20 {one}", 0, plain.clone(), String::new()),
        ("-p 2 -f 20 {one}", 0, plain.clone(), String::new()),
        ("-rate 50 -fetches 20 {one}", 0, plain.clone(), String::new()),
        ("-r 40 -s 1 {one}", 0, plain.clone(), String::new()),
        ("-r 40 -j -s 1 {one}", 0, plain.clone(), String::new()),
        ("-rate 40 -jitter -fetches 10 {one}", 0, plain.clone(), String::new()),
        ("-p 3 -s 1 {slow}", 0, plain.clone(), String::new()),
        ("-p 2 -f 60 -seed 7 {two}", 0, two, String::new()),
        ("-checksum -p 2 -f 10 {one}", 0, plain.clone(), String::new()),
        ("-c -v -p 2 -f 10 {one}", 0, plain.clone(), String::new()),
        ("-t -p 1 -f 2 {one}", 0, plain.clone(), String::new()),
        ("-Throttle 40000 -p 1 -f 2 {one}", 0, plain.clone(), String::new()),
        ("-timeout 5 -p 1 -f 2 {one}", 0, plain.clone(), String::new()),
        ("-sip {sip} -p 2 -f 6 {one}", 0, plain.clone(), String::new()),
        ("-proxy 127.0.0.1:{port} -p 1 -f 2 {elsewhere}", 0, plain.clone(), String::new()),
        ("-p 1 -f 2 {tls}", 0, plain.clone(), String::new()),
        ("-cipher fastsec -p 1 -f 2 {one}", 0, plain, "http_load: -cipher fastsec has no effect: the cipher suites are rustls's own\n".into()),
        ("-p 1 -f 3 {variable}", 0, report(&["# bad byte counts"], &[OK]), "http://#.#:#/variable: byte count wrong\n".repeat(2)),
        ("-c -p 1 -f 3 {variable}", 0, report(&["# bad checksums"], &[OK]), "http://#.#:#/variable: checksum wrong\n".repeat(2)),
        // Errors on the wire.
        ("--bug-compatible -p 1 -f 2 {closed}", 0, "# fetches, # max parallel, # bytes, in # seconds\n# mean bytes/connection\n# fetches/sec, # bytes/sec\nHTTP response codes:\n".into(), refused.repeat(2)),
        ("-p 1 -f 2 {closed}", 0, "# fetches, # max parallel, # bytes, in # seconds\n# fetches/sec, # bytes/sec\nHTTP response codes:\n".into(), refused.repeat(2)),
        ("-timeout 1 -p 1 -f 1 {hang}", 0, "# fetches, # max parallel, # bytes, in # seconds\n# fetches/sec, # bytes/sec\nmsecs/connect: # mean, # max, # min\n# timeouts\nHTTP response codes:\n".into(), "http://#.#:#/hang: timed out\n".into()),
        ("-rate 20 -f 1 {reset}", 0, String::new(), "http://#.#:#/reset: Connection reset by peer\n".into()),
        // Files and misuse.
        ("-p 1 -f 1 {gap}", 1, String::new(), "http_load: unknown protocol - \n".into()),
        ("-p 1 -f 1 {ftp}", 1, String::new(), "http_load: unknown protocol - ftp://#.#/\n".into()),
        ("-p 1 -f 1 {nowhere}", 1, String::new(), "http_load: unknown host - nosuch.invalid\n".into()),
        ("-p 1 -f 1 nofile", 1, String::new(), "nofile: No such file or directory\n".into()),
        ("-sip {badsip} -p 1 -f 1 {one}", 1, String::new(), "http_load: cannot convert source IP address here\n".into()),
        ("-p 0 -f 1 {one}", 1, String::new(), "http_load: parallel must be at least #\n".into()),
        ("-rate 1001 -f 1 {one}", 1, String::new(), "http_load: rate may be at most #\n".into()),
        ("-p 1 -f 0 {one}", 1, String::new(), "http_load: fetches must be at least #\n".into()),
        ("-p 1 -s 0 {one}", 1, String::new(), "http_load: seconds must be at least #\n".into()),
        ("-p 1 {one}", 1, String::new(), USAGE.into()),
        ("-f 1 {one}", 1, String::new(), USAGE.into()),
        ("-p 1 -j -f 1 {one}", 1, String::new(), USAGE.into()),
        ("-p 1 -f 1", 1, String::new(), USAGE.into()),
        ("-p 1 -f 1 -bogus {one}", 1, String::new(), USAGE.into()),
    ];
    for (line, status, out, err) in rows {
        let ran = http_load(&places, folder.path(), line);
        let said = (ran.out_text(), ran.err_text());
        assert_eq!(ran.status, Some(status), "{line}: {said:?}");
        if status != 0 || !out.is_empty() {
            assert_eq!(lasting(&said.0), lasting(&out), "{line}: {said:?}");
        }
        assert_eq!(shape::of(&said.1), shape::of(&err), "{line}: {said:?}");
    }
}

#[test]
fn http_load_sends_the_same_bytes_as_the_original_source() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let places = places(&server, folder.path());
    http_load(&places, folder.path(), "-p 1 -f 1 {one}");
    let wanted =
        b"GET /fixed HTTP/1.0\r\nHost: 127.0.0.1\r\nUser-Agent: http_load 12mar2006\r\n\r\n";
    assert_eq!(server.different_requests(), [wanted.to_vec()]);
    server.forget();
    http_load(
        &places,
        folder.path(),
        "-proxy 127.0.0.1:{port} -p 1 -f 1 {elsewhere}",
    );
    let wanted = b"GET http://elsewhere.test:80/fixed HTTP/1.0\r\nHost: elsewhere.test\r\nUser-Agent: http_load 12mar2006\r\n\r\n";
    assert_eq!(server.different_requests(), [wanted.to_vec()]);
}

#[test]
fn no_load_is_sent_if_a_line_of_the_file_is_malformed() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let places = places(&server, folder.path());
    let ran = http_load(&places, folder.path(), "-p 1 -f 1 {gap}");
    assert_eq!((ran.status, server.count()), (Some(1), 0));
    let ran = http_load(&places, folder.path(), "-p 1 -f 1 {empty}");
    assert_eq!((ran.status, server.count()), (Some(1), 0));
}

#[test]
fn http_load_counts_all_fetches_and_bytes() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let places = places(&server, folder.path());
    let out = http_load(&places, folder.path(), "-p 4 -f 50 {one}").out_text();
    assert!(
        out.starts_with("50 fetches, 4 max parallel, 15950 bytes, in "),
        "{out}"
    );
    assert!(out.contains("319 mean bytes/connection\n"), "{out}");
    assert!(out.ends_with("  code 200 -- 50\n"), "{out}");
}
