//! Sends each row's requests to both servers and compares the responses and the logs.

use crate::row::Row;
use crate::site;
use mehari_harness::mask::Mask;
use mehari_harness::{Answer, BackEnd, Connection, Server};
use std::io::Write;

/// Returns a line for each row that contradicts its mark.
pub fn run(rows: &[&Row]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let back_end = BackEnd::start(|heard, stream| {
        let line = heard.head.lines().next().unwrap_or_default().to_owned();
        let host = heard.field("X-Sent").unwrap_or("-").to_owned();
        let said = String::from_utf8_lossy(&heard.body).into_owned();
        let body = format!("back end: {line} x-sent {host} body {said}\n");
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Back: end\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).is_ok()
    });
    let port = back_end.address.port();
    let mut ours = site::builder(rows, port).try_start();
    let theirs = site::builder(rows, port).on_apache().try_start();
    let mask = Mask::new(MASKS);
    if rows.len() > 1 {
        let refusals = [&ours, &theirs].map(|server| server.as_ref().err());
        if let Some(refusal) = refusals.into_iter().flatten().next() {
            panic!("the server of all rows did not start:\n{}", refusal.text());
        }
    }
    if let (1, Err(log)) = (rows.len(), &ours) {
        println!("{}: {}", rows[0].name(), log.text());
    }
    let wrong = rows
        .iter()
        .filter_map(|row| {
            let begun = std::time::Instant::now();
            let theirs = told(row, theirs.as_ref(), &mask, 1);
            let theirs_took = begun.elapsed();
            // Our log has a thread of its own, so its lines come after the response.
            let lines = theirs.lines().filter(|line| line.starts_with("log: "));
            let ours = told(row, ours.as_ref(), &mask, lines.count().max(1));
            if begun.elapsed().as_secs() >= 1 {
                println!("{}: {theirs_took:?} of {:?}", row.name(), begun.elapsed());
            }
            judge(row, &ours, &theirs)
        })
        .collect();
    if let Ok(server) = &mut ours {
        // Connections to the back end are kept.
        server.may_keep_what_it_has();
    }
    // Apache's end is not compared: Apache accepts connections before a start-up handler refuses
    // them.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(theirs)));
    wrong
}

fn judge(row: &Row, ours: &str, theirs: &str) -> Option<String> {
    let name = row.name();
    if row.differs.is_some() && std::env::var_os("MEHARI_SHOW_MARKED").is_some() {
        println!("=== {name}\n--- mod_perl\n{theirs}\n--- Mehari\n{ours}\n");
    }
    let refused = [ours, theirs].iter().all(|told| told.contains(REFUSED));
    if refused != row.refused {
        return Some(format!(
            "=== {name}: {}\n",
            if refused {
                "neither server starts, so the row shows nothing"
            } else {
                "is marked as refused, and a server starts"
            }
        ));
    }
    match (&row.differs, ours == theirs) {
        (None, true) | (Some(_), false) => None,
        (None, false) => Some(format!(
            "=== {name}: differs\n--- mod_perl\n{theirs}\n--- Mehari\n{ours}\n"
        )),
        (Some(_), true) => Some(format!(
            "=== {name}: is the same, the mark has to go\n{ours}"
        )),
    }
}

/// The responses to a row's requests and its log lines, as text. Waits for this many lines.
fn told(
    row: &Row,
    server: Result<&Server, &mehari_harness::log::Log>,
    mask: &Mask,
    awaited: usize,
) -> String {
    let server = match server {
        Ok(server) => server,
        Err(_) => return REFUSED.repeat(row.requests.len()),
    };
    let before = server.log.lines().len();
    let mut connection: Option<Connection> = None;
    let mut text = String::new();
    for request in &row.requests {
        let mut request = request.clone();
        server.address(&mut request);
        let open = connection
            .take()
            .map_or_else(|| Connection::try_open(server.address), Ok);
        let Ok(mut open) = open else {
            text += no_answer(row);
            continue;
        };
        match open.send(&request) {
            Ok(answer) => {
                text += &essence(row, server, mask, &answer);
                let closes = |value: &String| value.eq_ignore_ascii_case("close");
                if answer.complete && !answer.all("connection").iter().any(closes) {
                    connection = Some(open);
                }
            }
            Err(_) => text += no_answer(row),
        }
    }
    drop(connection);
    match &row.log {
        Some(word) => text + &logged(server, mask, (before, awaited), word),
        None => text,
    }
}

/// What varies from run to run.
const MASKS: &[(&str, &str)] = &[
    (r#"nonce="[^"]*""#, "nonce=(nonce)"),
    (r"\[client [0-9.]+:\d+\] ", ""),
];

const REFUSED: &str = "the server does not start\n";

/// Apache accepts connections before a start-up handler refuses them.
fn no_answer(row: &Row) -> &'static str {
    if row.alone {
        REFUSED
    } else {
        "no answer\n"
    }
}

/// Returns level and text of the new log lines that contain the word, after `awaited` of them have
/// come.
fn logged(server: &Server, mask: &Mask, (before, awaited): (usize, usize), word: &str) -> String {
    let is_there = || {
        let lines = server.log.lines();
        let found = lines[before..].iter().filter(|line| line.contains(word));
        found.count() >= awaited
    };
    mehari_harness::eventually(std::time::Duration::from_secs(2), is_there);
    let lines = server.log.lines();
    let lines = lines[before..].iter().filter(|line| line.contains(word));
    lines
        .map(|line| format!("log: {}\n", plain(server, mask, line)))
        .collect()
}

/// A line of the log without the time, the process and the client.
fn plain(server: &Server, mask: &Mask, line: &str) -> String {
    let mut rest = line;
    let mut level = "";
    while let Some((field, after)) = rest
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        let known = [
            "emerg", "alert", "crit", "error", "warn", "notice", "info", "debug",
        ];
        let word = field.rsplit(':').next().unwrap_or_default();
        if known.contains(&word) {
            level = word;
        }
        rest = after;
    }
    let text = mask.apply(server, rest.as_bytes());
    // mod_perl writes the newline of a `die` as text.
    format!(
        "{level}: {}",
        String::from_utf8_lossy(&text).trim_end_matches("\\n")
    )
}

fn essence(row: &Row, server: &Server, mask: &Mask, answer: &Answer) -> String {
    let is_page = is_page_of_server(answer);
    let mut lines: Vec<String> = answer
        .fields
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .filter(|(name, _)| !OF_THE_SERVER.contains(&name.as_str()))
        .filter(|(name, _)| row.length && !is_page || name != "content-length")
        .filter(|(name, _)| name != "content-type" || !is_page)
        .filter(|(name, value)| name != "etag" || !is_of_a_file(value))
        .filter(|(name, value)| name != "allow" || value.as_slice() != b"TRACE")
        .map(|(name, value)| {
            let value = shown(&mask.apply(server, value));
            // Apache names methods in the order of a hash, and TRACE, which Mehari refuses.
            let value = if name == "allow" {
                sorted(&value)
            } else {
                value
            };
            format!("{name}: {value}")
        })
        .collect();
    lines.sort();
    let body = if is_page {
        "(a page of the server)".to_owned()
    } else {
        shown(&mask.apply(server, &answer.body))
    };
    let cut = if answer.complete { "" } else { "(cut short)" };
    format!(
        "{} {}\n{}\n\n{body}{cut}\n",
        answer.status,
        answer.reason,
        lines.join("\n")
    )
}

/// A list with commas, in the order of its words.
fn sorted(list: &str) -> String {
    let mut words: Vec<&str> = list.split(',').filter(|word| *word != "TRACE").collect();
    words.sort_unstable();
    words.join(",")
}

/// Whether an entity tag is a server's tag for a file, made of the file's size and time.
fn is_of_a_file(tag: &[u8]) -> bool {
    let tag = tag.strip_prefix(b"W/").unwrap_or(tag);
    let inner = tag
        .strip_prefix(b"\"")
        .and_then(|tag| tag.strip_suffix(b"\""));
    inner.is_some_and(|tag| {
        tag.contains(&b'-') && tag.iter().all(|&at| at == b'-' || at.is_ascii_hexdigit())
    })
}

/// The servers' own pages. `-` marks pages whose text a program could read; other tests cover
/// those.
fn is_page_of_server(answer: &Answer) -> bool {
    let text = answer.text();
    let title = format!("<title>{} ", answer.status);
    answer.status >= 300
        && (text.is_empty() || text.starts_with("<!DOCTYPE") && text.contains(&title))
}

/// Fields that each server adds itself.
const OF_THE_SERVER: &[&str] = &[
    "date",
    "server",
    "connection",
    "keep-alive",
    "transfer-encoding",
    "accept-ranges",
    "x-content-type-options",
    "x-request-id",
];

fn shown(bytes: &[u8]) -> String {
    if bytes.starts_with(b"\x1f\x8b") {
        return "(gzip)".to_owned();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}
