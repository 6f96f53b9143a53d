use super::*;

fn parse(line: &str) -> Result<Options, Refusal> {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    Options::parse(&words)
}

#[test]
fn the_command_line_of_the_guide_is_accepted() {
    let line = "--server hostname --port 80 --uri /test.html --rate 150 --num-conn 27000 --num-call 1 --timeout 5";
    let options = parse(line).expect("httperf takes it");
    assert_eq!(options.num_conns, 27_000);
    assert_eq!(options.arrival, Arrival::Every(1.0 / 150.0));
    assert_eq!((options.num_calls, options.timeout), (1, 5.0));
}

#[test]
fn misuse_is_refused_with_httperfs_message() {
    let rows = [
        (
            "--ra 10 --num-c 5",
            "option '--num-c' is ambiguous; possibilities: '--num-calls' '--num-conns'",
        ),
        ("--bogus", "unrecognized option '--bogus'"),
        ("--num-conns", "option '--num-conns' requires an argument"),
        ("--hog=3", "option '--hog' doesn't allow an argument"),
        ("-x", "invalid option -- 'x'"),
        ("--rate x", "illegal request rate x"),
        ("--period d", "illegal mean interarrival time "),
        ("--period q1", "illegal interarrival distribution 'q' in q1"),
        (
            "--period u3",
            "minimum interarrival time not followed by `,MAX_IAT' (rest: `')",
        ),
        ("--client 3", "client id not followed by `/' (rest: `')"),
        ("--client 1/1", "bad number of clients (rest: `1')"),
        ("--port 99999", "illegal port number 99999"),
        ("--http-version x", "illegal version number x"),
        (
            "--wsess 3,2,1,4",
            "extraneous parameter in --wsess arg (rest: `,4')",
        ),
    ];
    for (line, text) in rows {
        let refusal = parse(line).err().unwrap_or_else(|| panic!("{line} passed"));
        let said = String::from_utf8_lossy(&refusal.err).into_owned();
        assert_eq!(
            (refusal.status, said),
            (1, format!("httperf: {text}\n")),
            "{line}"
        );
    }
}

#[test]
fn cookies_need_sessions() {
    let refusal = parse("--session-cookies").expect_err("there is no session");
    assert_eq!(refusal.status, 255);
}

#[test]
fn the_later_of_rate_and_period_counts() {
    let options = parse("--rate 20 --period d0.3").expect("both are fine");
    assert_eq!(options.arrival, Arrival::Every(0.3));
}

#[test]
fn every_option_of_the_table_is_read() {
    use crate::getopt::Takes;
    for row in TABLE {
        let argument = match (row.name, row.takes) {
            (_, Takes::Nothing | Takes::Perhaps) => "",
            ("client", _) => "=0/1",
            ("http-version", _) => "=1.0",
            ("wlog", _) => "=y,file",
            ("wsess" | "wsesspage", _) => "=1,1,1",
            ("wsesslog", _) => "=1,1,file",
            ("wset", _) => "=1,1",
            _ => "=1",
        };
        let answer = parse(&format!("--{}{argument}", row.name));
        let ends = matches!(row.name, "help" | "session-cookies");
        assert_eq!(answer.is_err(), ends, "--{}: {answer:?}", row.name);
    }
}

#[test]
fn an_option_without_effect_is_reported_in_one_line() {
    for line in [
        "--hog",
        "--ssl-ciphers A",
        "--retry-on-failure",
        "--wsesspage 1,1,0",
    ] {
        let notices = parse(line).expect("it is accepted").notices;
        assert_eq!(notices.len(), 1, "{line}");
        assert_eq!(notices[0].matches('\n').count(), 1, "{line}");
    }
}
