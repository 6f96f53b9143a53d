//! Runs one program on two servers, Mehari and Apache with mod_perl, and sends each request to
//! both. Each page must be the same on both servers, except for the parts that a mask replaces.

use crate::answer::OF_THE_SERVER;
use crate::cookies::Cookies;
use crate::mask::Mask;
use crate::{apache, needs, Answer, Builder, Request, Server};
use std::fmt::Write;

/// The two servers, each with the cookies of its visitor.
pub struct Pair {
    ours: Visitor,
    theirs: Option<Visitor>,
    mask: Mask,
}

/// A server, and the cookies that its visitor has.
struct Visitor {
    server: Server,
    cookies: Cookies,
}

impl Pair {
    /// Starts the site of `build` on both servers. Without Apache and mod_perl nothing is compared,
    /// and the test counts as skipped. The test still checks Mehari's pages itself.
    pub fn start(build: impl Fn() -> Builder) -> Pair {
        Pair::start_each(build)
    }

    /// Starts two sites that differ: `build` is called for Apache's site first, then for Mehari's.
    pub fn start_each(mut build: impl FnMut() -> Builder) -> Pair {
        let theirs =
            needs::packages(&apache::PACKAGES).then(|| Visitor::of(build().on_apache().start()));
        Pair {
            ours: Visitor::of(build().start()),
            theirs,
            mask: Mask::new(&[]),
        }
    }

    /// Sets the test's own patterns of variable parts, each with its replacement.
    pub fn mask(mut self, patterns: &[(&'static str, &'static str)]) -> Pair {
        self.mask = Mask::new(patterns);
        self
    }

    /// Returns Mehari's server.
    pub fn ours(&self) -> &Server {
        &self.ours.server
    }

    /// Accepts the descriptors that Mehari's server has open now.
    pub fn may_keep_what_it_has(&mut self) {
        self.ours.server.may_keep_what_it_has();
    }

    /// Returns both servers, Mehari's first.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        std::iter::once(&self.ours.server).chain(self.theirs.iter().map(|visitor| &visitor.server))
    }

    #[track_caller]
    pub fn get(&mut self, target: &str) -> Answer {
        self.send(&Request::get(target))
    }

    #[track_caller]
    pub fn form(&mut self, target: &str, body: &str) -> Answer {
        self.send(&Request::form(target, body))
    }

    /// Sends the request to both servers and returns Mehari's response. Panics if Apache's response
    /// differs.
    #[track_caller]
    pub fn send(&mut self, request: &Request) -> Answer {
        match self.compare(request) {
            Ok(answer) => answer,
            Err(difference) => panic!("{difference}\n{}", self.ends_of_logs()),
        }
    }

    /// Sends the request to both servers. Returns Mehari's response, or the difference as a text.
    #[track_caller]
    pub fn compare(&mut self, request: &Request) -> Result<Answer, String> {
        self.compare_as(request, str::to_owned)
    }

    /// Compares a page that prints a hash in perl's random order: the order of the words does not
    /// count.
    #[track_caller]
    pub fn compare_words(&mut self, request: &Request) -> Result<Answer, String> {
        self.compare_as(request, in_order)
    }

    /// Compares a script that prints a status of its own. mod_perl's Registry loses this status: it
    /// answers 200 and appends Apache's error page. Mehari's response must have `status` and only
    /// the script's page.
    #[track_caller]
    pub fn compare_refusal(&mut self, request: &Request, status: u16) -> Result<Answer, String> {
        let ours = self.ours.send(request);
        if ours.status != status {
            return Err(format!(
                "{}: {} instead of {status}",
                request.target, ours.status
            ));
        }
        let Some(theirs) = &mut self.theirs else {
            return Ok(ours);
        };
        let answer = theirs.send(request);
        let expected = shown(&self.mask.apply(&theirs.server, &answer.body));
        let found = shown(&self.mask.apply(&self.ours.server, &ours.body));
        if expected.starts_with(&found) && !found.is_empty() {
            Ok(ours)
        } else {
            Err(format!(
                "{}: the pages differ\n{}",
                request.target,
                difference(&expected, &found)
            ))
        }
    }

    #[track_caller]
    fn compare_as(
        &mut self,
        request: &Request,
        seen: fn(&str) -> String,
    ) -> Result<Answer, String> {
        let ours = self.ours.send(request);
        let Some(theirs) = &mut self.theirs else {
            return Ok(ours);
        };
        let answer = theirs.send(request);
        let expected = seen(&essence(&self.mask, &theirs.server, &answer));
        let found = seen(&essence(&self.mask, &self.ours.server, &ours));
        if expected == found {
            return Ok(ours);
        }
        let difference = difference(&expected, &found);
        Err(format!(
            "{} {}: the answers differ\n{difference}",
            request.method, request.target
        ))
    }

    /// Returns the last log lines of both servers.
    pub fn ends_of_logs(&self) -> String {
        let end_of = |server: &Server| {
            let text = server.log.text();
            let lines: Vec<_> = text.lines().collect();
            lines[lines.len().saturating_sub(15)..].join("\n")
        };
        let ours = format!("Mehari's log ends:\n{}", end_of(&self.ours.server));
        match &self.theirs {
            Some(theirs) => format!("{ours}\nApache's log ends:\n{}", end_of(&theirs.server)),
            None => ours,
        }
    }

    /// Sends the request to both servers, and follows one redirect.
    #[track_caller]
    pub fn follow(&mut self, request: &Request) -> Answer {
        let answer = self.send(request);
        let place = answer
            .field("location")
            .unwrap_or_else(|| panic!("{}: no redirect\n{}", request.target, answer.text()));
        let target = place
            .strip_prefix(&format!("http://{}", self.ours.server.address))
            .unwrap_or(&place);
        if target.starts_with('/') {
            return self.get(target);
        }
        let folder = request
            .target
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder);
        self.get(&format!("{folder}/{target}"))
    }
}

impl Visitor {
    fn of(server: Server) -> Visitor {
        Visitor {
            server,
            cookies: Cookies::default(),
        }
    }

    #[track_caller]
    fn send(&mut self, request: &Request) -> Answer {
        let answer = self.server.send(&self.cookies.add_to(request.clone()));
        self.cookies.keep(&answer);
        answer
    }
}

/// Returns the status, the fields and the body as lines, with the mask applied.
fn essence(mask: &Mask, server: &Server, answer: &Answer) -> String {
    let is_page_of_server = is_page_of_server(answer);
    let mut lines: Vec<String> = answer
        .fields
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .filter(|(name, _)| !is_of_a_server(name))
        .filter(|(name, _)| {
            !(name == "content-type" && (is_page_of_server || answer.status == 204))
        })
        .map(|(name, value)| format!("{name}: {}", shown(&mask.apply(server, value))))
        .collect();
    lines.sort();
    let body = if is_page_of_server {
        "(a page of the server)".to_owned()
    } else {
        shown(&mask.apply(server, &answer.body))
    };
    format!("{}\n{}\n\n{body}", answer.status, lines.join("\n"))
}

fn is_of_a_server(name: &str) -> bool {
    OF_THE_SERVER.contains(&name) || OF_ONE_SERVER.contains(&name)
}

/// Returns whether the server itself wrote the page. Such pages differ between the servers. Also,
/// if a program prints only a head, Apache adds a page and Mehari does not.
fn is_page_of_server(answer: &Answer) -> bool {
    let text = answer.text();
    let is_html = text.starts_with("<!DOCTYPE HTML PUBLIC \"-//") || text.starts_with(OUR_PAGE);
    let is_html = is_html && text.contains(&format!("<title>{} ", answer.status));
    answer.status >= 300
        && (text.is_empty() || is_html || text.starts_with(&format!("{} ", answer.status)))
}

/// The beginning of Mehari's own pages.
const OUR_PAGE: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">";

/// Returns the words of a text in sorted order.
fn in_order(text: &str) -> String {
    let mut words: Vec<_> = text
        .split(|at: char| at.is_whitespace() || "<>,".contains(at))
        .filter(|word| !word.is_empty())
        .collect();
    words.sort_unstable();
    words.join("\n")
}

fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}

/// Fields that only one of the servers adds when it sends a file.
const OF_ONE_SERVER: &[&str] = &["accept-ranges", "etag", "x-content-type-options"];

/// Returns the first lines that differ, with some context. Lines are cut, because some programs
/// write lines of many thousand characters.
fn difference(expected: &str, found: &str) -> String {
    let bytes = expected.bytes().zip(found.bytes());
    let same = bytes.take_while(|(one, other)| one == other).count();
    let mut text = String::new();
    for (name, page) in [("mod_perl", expected), ("Mehari", found)] {
        let page = page.as_bytes();
        let line = page[..same].iter().rposition(|&byte| byte == b'\n');
        let start = line.unwrap_or(0).max(same.saturating_sub(200));
        let end = page.len().min(same + 600);
        let shown = String::from_utf8_lossy(&page[start..end]);
        let _ = writeln!(text, "--- {name}, from byte {start}\n{shown}");
    }
    text
}
