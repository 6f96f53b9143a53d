//! Turns a hand-written list of requests into an archive like the archive of a recording.
//!
//! Each line is `/path`, `http://server/path`, `METHOD target`, or `METHOD target @FILE [TYPE]`.
//! Empty lines and lines that begin with `#` are skipped.

use std::path::Path;

use hyper::Method;
use url::{Position, Url};

use crate::session::har::{
    Archive, Cache, Content, Entry, Pair, PostData, Request, Response, Timings,
};
use crate::session::Target;

const METHODS: [&str; 8] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND",
];
const FORM: &str = "application/x-www-form-urlencoded";

/// Reads the list `text` of the file `path`. The names of body files are relative to the list's
/// folder. A whole URL must belong to one of the `servers`. Both servers get the request for its
/// path.
///
/// # Errors
/// A text: `path:line:` and what was expected there.
pub fn read(text: &str, path: &Path, servers: [&Target; 2]) -> Result<Archive, String> {
    let mut entries = Vec::new();
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let request = request(line, path, servers)
            .map_err(|why| format!("{}:{}: {why}", path.display(), number + 1))?;
        entries.push(entry(number as u64, request));
    }
    if entries.is_empty() {
        Err(format!(
            "{}: expected a URL or path a line, found none",
            path.display()
        ))
    } else {
        Ok(Archive::of(entries))
    }
}

fn request(line: &str, list: &Path, servers: [&Target; 2]) -> Result<Request, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (method, rest) = match &words[..] {
        [target] => ("GET", &[*target][..]),
        [method, rest @ ..] => (*method, rest),
        [] => return Err("expected a URL".into()),
    };
    let (target, body, kind) = match rest {
        [target] => (target, None, FORM),
        [target, body] => (target, Some(*body), FORM),
        [target, body, kind] => (target, Some(*body), *kind),
        _ => return Err(format!("expected `METHOD URL @FILE TYPE`, got `{line}`")),
    };
    let body = body.map(|word| read_body(word, list)).transpose()?;
    let mut headers = Vec::new();
    if body.is_some() {
        headers.push(Pair {
            name: "content-type".into(),
            value: kind.to_owned(),
        });
    }
    Ok(Request {
        method: known(method)?,
        url: whole(target, servers)?,
        http_version: "HTTP/1.1".into(),
        cookies: Vec::new(),
        headers,
        query_string: Vec::new(),
        post_data: body.map(|bytes| PostData::of(kind.to_owned(), &bytes)),
        headers_size: -1,
        body_size: -1,
    })
}

fn known(method: &str) -> Result<String, String> {
    let upper = method.to_ascii_uppercase();
    let is_word = !method.is_empty()
        && method
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    if Method::from_bytes(method.as_bytes()).is_ok() && is_word {
        return Ok(method.to_owned());
    }
    if METHODS.contains(&upper.as_str()) {
        Err(format!("expected a method such as {upper}, got `{method}`"))
    } else {
        Err(format!(
            "expected a URL, a path, or `METHOD URL` with a method such as GET or POST, got `{method}`"
        ))
    }
}

fn read_body(word: &str, list: &Path) -> Result<Vec<u8>, String> {
    let name = word
        .strip_prefix('@')
        .filter(|name| !name.is_empty())
        .ok_or_else(|| {
            format!("expected the body as @FILE, got `{word}` (a space in a URL is %20)")
        })?;
    let path = list.parent().unwrap_or(Path::new("")).join(name);
    std::fs::read(&path).map_err(|cause| format!("cannot read {}: {cause}", path.display()))
}

/// Returns the target as a URL of the first server.
fn whole(target: &str, servers: [&Target; 2]) -> Result<String, String> {
    let [old, new] = servers;
    let path = if target.starts_with('/') {
        target.to_owned()
    } else {
        let url = Url::parse(target)
            .map_err(|_| format!("expected a path that begins with / or a URL, got `{target}`"))?;
        let origin = Target::of(&url)
            .ok_or_else(|| format!("expected a URL with http:// or https://, got `{target}`"))?;
        if origin != *old && origin != *new {
            return Err(format!(
                "expected a URL of {} or {}, got `{target}`",
                old.origin(),
                new.origin()
            ));
        }
        url[Position::BeforePath..Position::AfterQuery].to_owned()
    };
    let url = format!("{}{path}", old.origin());
    match Url::parse(&url) {
        Ok(_) => Ok(url),
        Err(cause) => Err(format!("`{target}` is not a path: {cause}")),
    }
}

fn entry(number: u64, request: Request) -> Entry {
    Entry {
        started_unix_us: number,
        time: 0.0,
        request,
        response: Response {
            status: 0,
            status_text: String::new(),
            http_version: String::new(),
            cookies: Vec::new(),
            headers: Vec::new(),
            content: Content::default(),
            redirect_url: String::new(),
            headers_size: -1,
            body_size: -1,
        },
        cache: Cache::default(),
        timings: Timings::default(),
        server_address: None,
        connection: None,
        comment: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<Vec<String>, String> {
        let old: Target = "http://a.test:1".parse().expect("a target");
        let new: Target = "http://b.test:2".parse().expect("a target");
        let archive = read(text, Path::new("urls.txt"), [&old, &new])?;
        let told = |entry: &Entry| format!("{} {}", entry.request.method, entry.request.url);
        Ok(archive.log.entries.iter().map(told).collect())
    }

    #[test]
    fn every_form_of_line_is_a_request_to_the_first_server() {
        let list = "# a list\n\n/x?y=1\nhttp://b.test:2/z#f\nHEAD /h\nM-SEARCH http://a.test:1/\n";
        assert_eq!(
            asked(list).expect("a list"),
            [
                "GET http://a.test:1/x?y=1",
                "GET http://a.test:1/z",
                "HEAD http://a.test:1/h",
                "M-SEARCH http://a.test:1/",
            ]
        );
    }

    #[test]
    fn a_malformed_line_is_reported_with_its_number() {
        for (line, why) in [
            ("x/y", "a path that begins with /"),
            ("get /", "such as GET"),
            (
                "http://c.test/",
                "a URL of http://a.test:1 or http://b.test:2",
            ),
            ("ftp://a.test/", "http:// or https://"),
            ("POST / body", "as @FILE"),
            ("POST / @gone.txt", "cannot read gone.txt"),
            ("POST / @a b c", "METHOD URL @FILE TYPE"),
            ("/a b", "got `/a`"),
        ] {
            let said = asked(&format!("/ok\n{line}\n")).expect_err(line);
            assert!(
                said.starts_with("urls.txt:2: ") && said.contains(why),
                "{said}"
            );
        }
        assert!(asked("# none\n")
            .expect_err("an empty list")
            .contains("found none"));
    }
}
