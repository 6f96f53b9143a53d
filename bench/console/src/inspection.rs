//! Looks into one Perl process: what it has loaded and what its code and variables take.
//!
//! A forked twin of the process answers what needs perl (`Mehari::Inspect`). The limits and the
//! open descriptors are read from /proc. Each answer is a table or a text.

use serde_json::{json, Value};
use std::fs;

/// The views of an inspection, each with one line about it, and whether it is of something.
pub const VIEWS: &[InspectionView] = &[
    view(
        "modules",
        "version, file, load time and bytes of each module",
        Of::Nothing,
    ),
    view(
        "scripts",
        "compiled scripts, with the URLs under which they ran",
        Of::Nothing,
    ),
    view(
        "symbols",
        "the symbol table of a package",
        Of::Perhaps("PACKAGE"),
    ),
    view(
        "source",
        "a sub's source, from its compiled code",
        Of::One("SUB"),
    ),
    view("ops", "a sub's operators", Of::One("SUB")),
    view(
        "lexicals",
        "a sub's variables, and what a closure has captured",
        Of::One("SUB"),
    ),
    view(
        "sizes",
        "bytes by package, of a package by sub, of a sub by line",
        Of::Perhaps("NAME"),
    ),
    view(
        "environment",
        "%ENV, @INC, signal handlers, perl itself",
        Of::Nothing,
    ),
    view("limits", "the limits of the process (rlimits)", Of::Nothing),
    view(
        "descriptors",
        "open descriptors, and what they are",
        Of::Nothing,
    ),
    view(
        "databases",
        "DBI's handles and their statements",
        Of::Nothing,
    ),
    view(
        "menu",
        "menu items that applications gave to Apache2::Status",
        Of::Perhaps("ITEM"),
    ),
];

/// Whether a view is of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    Nothing,
    Perhaps(&'static str),
    One(&'static str),
}

#[derive(Debug)]
pub struct InspectionView {
    pub word: &'static str,
    pub about: &'static str,
    pub of: Of,
}

const fn view(word: &'static str, about: &'static str, of: Of) -> InspectionView {
    InspectionView { word, about, of }
}

/// Checks a question before it goes to the server, which reads one line.
///
/// # Errors
/// There is no such view, its name is missing, or a text has a character that no name has.
pub fn check(whom: &str, word: &str, name: &str) -> Result<(), String> {
    let Some(view) = VIEWS.iter().find(|view| view.word == word) else {
        let words: Vec<&str> = VIEWS.iter().map(|view| view.word).collect();
        return Err(format!(
            "expected one of {}, not `{}`",
            words.join(", "),
            printable(word)
        ));
    };
    match view.of {
        Of::One(what) if name.is_empty() => {
            return Err(format!("`{word}` needs a name: expected `{word} {what}`"))
        }
        Of::Nothing if !name.is_empty() => return Err(format!("`{word}` takes no name")),
        _ => {}
    }
    let is_number = !whom.is_empty() && whom.bytes().all(|it| it.is_ascii_digit());
    if !is_number && whom != "any" && whom != "zygote" {
        let whom = printable(whom);
        return Err(format!(
            "expected any, zygote or the number of a process, not `{whom}`"
        ));
    }
    if name.len() > 1000 || name.chars().any(char::is_control) {
        return Err("expected a name of at most 1000 printable characters".to_owned());
    }
    Ok(())
}

/// Writes a text so that a terminal shows it and does nothing else: control characters and
/// characters that change the direction of a text appear as their numbers.
pub fn printable(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_control() || turns(c) => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

/// Returns the limits of a process as a table. `None`: the process has gone.
pub fn limits(pid: u32) -> Option<Value> {
    let text = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let rows: Vec<Value> = text.lines().skip(1).filter_map(limit).collect();
    Some(json!({
        "ok": true, "pid": pid, "title": "Limits", "rows": rows,
        "columns": [{ "name": "Limit" }, { "name": "Soft" }, { "name": "Hard" }, { "name": "Unit" }],
    }))
}

/// The columns of the kernel's table have fixed places.
fn limit(line: &str) -> Option<Value> {
    let part = |from: usize, to: usize| line.get(from..to.min(line.len())).map(str::trim);
    Some(json!([
        part(0, 26)?,
        part(26, 47)?,
        part(47, 68)?,
        part(68, line.len()).unwrap_or_default()
    ]))
}

/// Returns the open descriptors of a process as a table. `None`: the process has gone.
pub fn descriptors(pid: u32) -> Option<Value> {
    let sockets = Sockets::of(pid);
    let folder = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let mut numbers: Vec<u32> = folder
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let rows = numbers.iter().filter_map(|number| {
        let target = fs::read_link(format!("/proc/{pid}/fd/{number}")).ok()?;
        let target = target.to_string_lossy().into_owned();
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap_or_default();
        Some(json!([
            number,
            kind(&target),
            sockets.describe(&target),
            way(&info),
            position(&info)
        ]))
    });
    Some(json!({
        "ok": true, "pid": pid, "title": "Open descriptors", "rows": rows.collect::<Vec<Value>>(),
        "columns": [
            { "name": "Number", "kind": "number" }, { "name": "Kind" }, { "name": "What" },
            { "name": "Opened for" }, { "name": "Position", "kind": "number" },
        ],
    }))
}

fn kind(target: &str) -> &'static str {
    match target {
        it if it.starts_with("socket:") => "socket",
        it if it.starts_with("pipe:") => "pipe",
        it if it.starts_with("/memfd:") => "memory file",
        it if it.starts_with("anon_inode:[eventfd") => "event",
        it if it.starts_with("anon_inode:") => "kernel object",
        it if it.starts_with("/dev/") => "device",
        _ => "file",
    }
}

fn field<'a>(info: &'a str, name: &str) -> &'a str {
    let found = info.lines().find_map(|line| line.strip_prefix(name));
    found.map_or("", str::trim)
}

fn way(info: &str) -> &'static str {
    match u32::from_str_radix(field(info, "flags:"), 8).map(|flags| flags & 3) {
        Ok(0) => "reading",
        Ok(1) => "writing",
        Ok(2) => "both",
        _ => "",
    }
}

fn position(info: &str) -> Option<u64> {
    field(info, "pos:").parse().ok()
}

/// The sockets of a process's network namespace, by the number of their inode.
struct Sockets(Vec<(String, String)>);

impl Sockets {
    fn of(pid: u32) -> Sockets {
        let mut all = Vec::new();
        for (table, name) in [
            ("tcp", "TCP"),
            ("tcp6", "TCP"),
            ("udp", "UDP"),
            ("udp6", "UDP"),
        ] {
            let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
            all.extend(text.lines().skip(1).filter_map(|line| internet(line, name)));
        }
        let text = fs::read_to_string(format!("/proc/{pid}/net/unix")).unwrap_or_default();
        all.extend(text.lines().skip(1).filter_map(local));
        Sockets(all)
    }

    fn describe(&self, target: &str) -> String {
        let inode = target
            .strip_prefix("socket:[")
            .and_then(|it| it.strip_suffix(']'));
        let found = inode.and_then(|inode| self.0.iter().find(|(number, _)| number == inode));
        found.map_or_else(|| target.to_owned(), |(_, text)| text.clone())
    }
}

fn internet(line: &str, protocol: &str) -> Option<(String, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (near, far) = (address(words.get(1)?)?, address(words.get(2)?)?);
    let text = match *words.get(3)? {
        "0A" => format!("{protocol} {near}, listening"),
        _ => format!("{protocol} {near} to {far}"),
    };
    Some(((*words.get(9)?).to_owned(), text))
}

fn local(line: &str) -> Option<(String, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let kind = match *words.get(4)? {
        "0001" => "stream",
        "0002" => "datagram",
        _ => "packet",
    };
    let path = words.get(7).copied().unwrap_or("without a name");
    Some((
        (*words.get(6)?).to_owned(),
        format!("local {kind} socket, {path}"),
    ))
}

/// The kernel writes an address as words of the machine's byte order in hexadecimal digits.
fn address(text: &str) -> Option<std::net::SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => std::net::IpAddr::from(word(0)?),
        32 => {
            let mut bytes = [0_u8; 16];
            for part in 0..4 {
                bytes[4 * part..4 * part + 4].copy_from_slice(&word(8 * part)?);
            }
            std::net::IpAddr::from(bytes)
        }
        _ => return None,
    };
    Some((ip, port).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_one_line_of_a_known_view() {
        for (whom, word, name) in [
            ("any", "modules", ""),
            ("7", "source", "Shop::list"),
            ("zygote", "symbols", ""),
            ("any", "menu", "my item"),
        ] {
            assert_eq!(check(whom, word, name), Ok(()), "{whom} {word} {name}");
        }
        for (whom, word, name) in [
            ("any", "source", ""),
            ("any", "limits", "x"),
            ("any", "stop", ""),
            ("any stop", "modules", ""),
            ("", "modules", ""),
            ("any", "symbols", "A\nstop"),
        ] {
            check(whom, word, name).expect_err(word);
        }
    }

    #[test]
    fn a_terminal_gets_no_control_character() {
        assert_eq!(
            printable("a\x1b[2J\u{9b}\u{202e}ü"),
            "a\\u{1b}[2J\\u{9b}\\u{202e}ü"
        );
    }

    #[test]
    fn kernel_tables_are_read() {
        let line = "Max open files            1024                 524288               files     ";
        assert_eq!(
            limit(line),
            Some(json!(["Max open files", "1024", "524288", "files"]))
        );
        let line = "   0: 0100007F:1F90 00000000:0000 0A 0:0 00:0 0 0 0 123 1 0 100";
        let expected = "TCP 127.0.0.1:8080, listening".to_owned();
        assert_eq!(internet(line, "TCP"), Some(("123".to_owned(), expected)));
    }
}
