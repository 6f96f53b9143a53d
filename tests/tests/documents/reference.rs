//! The reference is complete: commands with their options, and metrics.

use super::read;
use mehari_harness::binary::{mehari, workspace};
use mehari_harness::Server;
use std::fmt::Write;
use std::process::Command;

const COMMANDS: &str = "docs/reference/commands.md";

/// Options of the old tools, whose help is that of the tools.
#[test]
fn reference_of_commands_is_what_they_say_of_themselves() {
    let page = commands_page();
    if std::env::var_os("MEHARI_WRITE_COMMANDS").is_some() {
        std::fs::write(workspace().join(COMMANDS), &page).expect("written");
    }
    assert!(
        read(COMMANDS) == page,
        "{COMMANDS} is not what `--help` prints; MEHARI_WRITE_COMMANDS=1 writes it"
    );
}

#[test]
fn every_metric_stands_in_the_reference() {
    let server = Server::builder()
        .file("htdocs/page.txt", "a page")
        .conf(
            "DocumentRoot @ROOT@/htdocs\n<Location /metrics>\nSetHandler metrics\n</Location>\n\
             PerlModule strict\nZygoteWarmup /page.txt\n<VirtualHost *:*>\nServerName own\nPerlOptions +Clone\n\
             MaxRequestWorkers 2\n</VirtualHost>\n",
        )
        .start();
    server.get("/page.txt").expect(200);
    let said = server.get("/metrics").expect(200);
    let page = read("docs/reference/metrics.md");
    let said: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    assert!(said.len() >= 15, "{said:?}");
    for name in &said {
        assert!(page.contains(&format!("`{name}`")), "{name} is missing");
    }
    for name in page.split('`').filter(|word| is_metric(word)) {
        assert!(said.contains(&name), "{name} is no metric of the server");
    }
}

#[test]
fn every_log_line_stands_in_the_reference() {
    let page = read("docs/reference/messages.md");
    let page: Vec<&str> = page.split_whitespace().collect();
    let page = page.join(" ").replace('`', "");
    let mut seen = 0;
    let mut missing = Vec::new();
    for file in sources() {
        let text = read(&file);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for message in messages(code) {
            seen += 1;
            if !page.contains(&longest_part(&message)) {
                missing.push(format!("{file}: {message}"));
            }
        }
    }
    assert!(seen > 50, "only {seen} messages were found");
    assert!(
        missing.is_empty(),
        "docs/reference/messages.md lacks:\n{}",
        missing.join("\n")
    );
}

#[test]
fn messages_are_found_in_code() {
    let code = "log(LogLevel::Warn, &format!(\"a {b} long \\\n   text\"));\n\
                self.errors.error(\"short\");\nmatch x { LogLevel::Info => 1,\n }\n\
                #[error(\"the fault {0}\")]\n";
    let found: Vec<String> = messages(code).collect();
    assert_eq!(found, ["a {b} long text", "short", "the fault {0}"]);
    assert_eq!(longest_part("a {b} long text"), "long text");
}

/// What stands before a message of the error log.
const CALLS: &[&str] = &[
    "LogLevel::Emerg",
    "LogLevel::Alert",
    "LogLevel::Crit",
    "LogLevel::Error",
    "LogLevel::Warn",
    "LogLevel::Notice",
    "LogLevel::Info",
    ".error(",
    ".warn(",
    ".notice(",
    "#[error(",
];

/// What stands before a message in a file of the certificate process.
const CALLS_OF_REPORTS: &[&str] = &["let line = format!("];

/// Enums whose messages end up in the error log.
const FAULTS: &[&str] = &["server/pool/src/call.rs", "server/upstream/src/fault.rs"];

/// What stands in a file that writes to the error log.
const WRITERS: &[&str] = &["LogLevel::", "logs.error", REPORTS, ".log(Level::"];
/// What stands in a file that reports lines to the server.
const REPORTS: &str = "Report::Log {";

/// The files of the server that write to the error log.
fn sources() -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["server", "mehari/src/cli/serve"] {
        add_sources(folder, &mut found);
    }
    let writes = |file: &String| {
        let text = read(file);
        let is_writer = WRITERS.iter().any(|call| text.contains(call));
        FAULTS.contains(&file.as_str()) || is_writer && !text.contains("#[error(")
    };
    found.retain(writes);
    found
}

fn add_sources(folder: &str, found: &mut Vec<String>) {
    let entries = std::fs::read_dir(workspace().join(folder)).expect("a folder of sources");
    for entry in entries {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        let path = format!("{folder}/{name}");
        let is_of_tests = name.starts_with("tests") || name == "examples" || name == "config";
        if is_of_tests || name == "target" {
            continue;
        } else if workspace().join(&path).is_dir() {
            add_sources(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// The first text of each call that writes to the error log.
fn messages(code: &str) -> impl Iterator<Item = String> + '_ {
    let reports = if code.contains(REPORTS) || code.contains(".log(Level::") {
        CALLS_OF_REPORTS
    } else {
        &[]
    };
    let calls = code
        .match_indices(|_: char| true)
        .filter_map(move |(at, _)| {
            let mut calls = CALLS.iter().chain(reports);
            let call = calls.find(|call| code[at..].starts_with(**call))?;
            let rest = &code[at + call.len()..];
            let end = rest.find([';', '=']).unwrap_or(rest.len());
            let open = rest.find('"').filter(|open| *open < end)?;
            literal(&rest[open + 1..])
        });
    calls
}

/// The text up to the closing quotation mark, with continued lines joined.
fn literal(code: &str) -> Option<String> {
    let mut text = String::new();
    let mut signs = code.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' => return Some(text),
            '\\' => match signs.next()? {
                '\n' => while signs.next_if(|sign| sign.is_whitespace()).is_some() {},
                sign => text.push(sign),
            },
            sign => text.push(sign),
        }
    }
    None
}

/// The longest part of a message between its placeholders.
fn longest_part(message: &str) -> String {
    let parts = message.split(['{', '}']).step_by(2);
    let longest = parts.max_by_key(|part| part.len()).unwrap_or_default();
    longest.trim_matches([' ', ':', ',', ';']).replace('`', "")
}

fn is_metric(word: &str) -> bool {
    let starts = ["mehari_", "http_server_", "process_"];
    starts.iter().any(|start| word.starts_with(start)) && !word.contains([' ', '{'])
}

fn commands_page() -> String {
    let mut page = String::from(
        "# Commands\n\nThis page has the text that each command prints with `--help`. A test writes \
         this page from the\ncommands.\n\nA worker is a Perl process of the server, which serves one \
         request at a time. A rung is the way in\nwhich a script runs ([the \
         ladder](../explanation/ladder.md)). In a closed loop, a load generator\nwaits for an answer \
         before it sends the next request. In an open loop, it sends requests at a fixed\nrate.\n",
    );
    for name in listed("") {
        let _ = write!(page, "\n## mehari {name}\n\n```text\n{}```\n", help(&name));
        let words = match name.as_str() {
            "bench" => BENCH.iter().copied().map(str::to_owned).collect(),
            name => listed(name),
        };
        for word in words {
            let name = format!("{name} {word}");
            let _ = write!(page, "\n### mehari {name}\n\n```text\n{}```\n", help(&name));
        }
    }
    page
}

/// The commands below `mehari bench`, whose help shows the options of a run.
const BENCH: [&str; 3] = ["merge", "export", "machine"];

/// The commands that the help of a command lists.
fn listed(command: &str) -> Vec<String> {
    let text = help(command);
    let lines = text.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = lines.take_while(|line| line.starts_with("  "));
    // The lines of a long description are indented further.
    let names = listed.filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    let names: Vec<String> = names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect();
    assert!(!command.is_empty() || names.len() > 15, "{text}");
    names
}

fn help(command: &str) -> String {
    let output = Command::new(mehari())
        .args(command.split_whitespace())
        .arg("--help")
        .env("COLUMNS", "100")
        .output()
        .expect("mehari runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("UTF-8");
    text.trim_end().to_owned() + "\n"
}
