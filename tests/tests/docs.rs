//! Tests the site of the documents: what `mehari docs` serves, and what it writes.

use mehari_harness::{binary, needs, Answer, Connection, Request};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// The command `mehari docs` while it serves.
struct Served {
    child: Child,
    address: SocketAddr,
    /// The printed path.
    path: String,
}

impl Served {
    fn start(words: &[&str]) -> Served {
        let mut command = command(words);
        let command = command.arg("--no-browser").stdout(Stdio::piped());
        let mut child = command.spawn().expect("mehari can be run");
        let mut line = String::new();
        let out = child.stdout.take().expect("it was piped");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let url = line.trim().strip_prefix("mehari docs: http://");
        let url = url.unwrap_or_else(|| panic!("no address: {line}"));
        let (address, path) = url.split_once('/').expect("a path");
        Served {
            child,
            address: address.parse().expect("an address"),
            path: format!("/{path}"),
        }
    }

    fn send(&self, request: Request) -> Answer {
        let answer = Connection::open(self.address).send(&request.closing());
        answer.expect("an answer")
    }

    fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).host(&self.address.to_string()))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(binary::mehari());
    command.arg("docs").args(words);
    command
}

/// Writes the site into a new folder.
fn written() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let output = command(&["-o", &folder.path().display().to_string()]).output();
    let output = output.expect("mehari can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(said.contains("/index.html"), "{said}");
    folder
}

#[test]
fn pages_are_served_to_this_machine_under_a_strict_policy() {
    let served = Served::start(&[]);
    assert_eq!(served.path, "/");
    let answer = served.get("/");
    let policy = answer.field("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"));
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(answer.expect(200).contains("<h1 id=\"documents\">"));
    let page = served.get("/reference/directives.html").expect(200);
    assert!(page.contains("<tr id=\"documentroot\">"));
    for (path, media_type) in [
        ("/site.css", "text/css; charset=utf-8"),
        ("/search-index.js", "text/javascript; charset=utf-8"),
        ("/terminal.svg", "image/svg+xml"),
    ] {
        let answer = served.get(path);
        assert_eq!(answer.field("content-type").as_deref(), Some(media_type));
        answer.expect(200);
    }
    served.get("/no-such.html").expect(404);
    served.get("/../../etc/passwd").expect(404);
    served
        .send(Request::get("/").host("evil.example"))
        .expect(403);
    let post = Request::new("POST", "/").host(&served.address.to_string());
    served.send(post).expect(405);
}

#[test]
fn words_open_the_reference_or_a_search_and_unknown_words_are_refused() {
    let served = Served::start(&["documentROOT"]);
    assert_eq!(served.path, "/reference/directives.html#documentroot");
    let served = Served::start(&["Perl", "stack"]);
    assert_eq!(served.path, "/index.html?q=Perl%20stack");
    let output = command(&["DocumentRoto"]).output().expect("it ran");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let expected = "no document has `DocumentRoto`; did you mean `DocumentRoot`?";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn every_link_of_the_written_site_leads_somewhere() {
    let folder = written();
    let pages = pages(folder.path());
    assert!(pages.len() > 50, "only {} pages", pages.len());
    let (mut seen, mut wrong) = (0, Vec::new());
    for (path, text) in &pages {
        let ids = values(text, " id=\"");
        let unique: BTreeSet<&String> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "{path} has an anchor twice");
        let links = values(text, " href=\"").into_iter();
        for link in links.chain(values(text, " src=\"")) {
            seen += 1;
            if !leads_somewhere(folder.path(), &pages, path, &link) {
                wrong.push(format!("{path}: {link}"));
            }
        }
    }
    assert!(seen > 3000, "only {seen} links");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let lost = leads_somewhere(
        folder.path(),
        &pages,
        "index.html",
        "tutorial/psgi-app.html#no",
    );
    assert!(!lost, "a missing anchor is found");
}

#[test]
fn every_page_is_reached_from_the_navigation_of_the_first() {
    let folder = written();
    let pages = pages(folder.path());
    let first = &pages["index.html"];
    let (_, navigation) = first.split_once("<nav id=\"navigation\"").expect("one");
    let (navigation, _) = navigation.split_once("</nav>").expect("its end");
    let links = values(navigation, " href=\"");
    for path in pages.keys().filter(|path| *path != "index.html") {
        assert!(links.contains(path), "the navigation lacks {path}");
    }
}

/// Chromium runs the search from a file system, under the policy of the page itself.
#[test]
fn search_works_in_a_browser_without_a_server() {
    needs!("chromium");
    let folder = written();
    let page = format!(
        "file://{}/index.html?q=documentroot",
        folder.path().display()
    );
    let output = chromium(&page, folder.path());
    let shown = String::from_utf8_lossy(&output.stdout);
    let log = String::from_utf8_lossy(&output.stderr);
    let first = shown.split("<div id=\"results\">").nth(1);
    let first = first.unwrap_or_else(|| panic!("no results:\n{log}"));
    let first = values(first, "<a href=\"").swap_remove(0);
    assert_eq!(first, "reference/directives.html#documentroot");
    assert!(!log.contains("Content Security Policy"), "{log}");
}

fn chromium(page: &str, home: &Path) -> Output {
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    command.args(["--enable-logging=stderr", "--virtual-time-budget=20000"]);
    command.arg(format!("--user-data-dir={}/.chromium", home.display()));
    let output = command.arg(page).env("HOME", home).output();
    output.expect("chromium can be run")
}

/// Returns the pages of a written site by their paths.
fn pages(folder: &Path) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "html") {
                let name = path.strip_prefix(folder).expect("below it").display();
                let text = std::fs::read_to_string(&path).expect("a page");
                pages.insert(name.to_string(), text);
            }
        }
    }
    pages
}

/// Returns what stands between `before` and the next quote.
fn values(text: &str, before: &str) -> Vec<String> {
    let values = text.split(before).skip(1);
    let values = values.filter_map(|rest| rest.split_once('"'));
    values.map(|(value, _)| value.to_owned()).collect()
}

fn leads_somewhere(
    folder: &Path,
    pages: &BTreeMap<String, String>,
    from: &str,
    link: &str,
) -> bool {
    if link.starts_with("https://") || link.starts_with("http://") {
        return true;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let path = match path {
        "" => from.to_owned(),
        path => {
            let base = folder.join(from);
            let file = base.parent().expect("a folder").join(path);
            let Ok(file) = file.canonicalize() else {
                return false;
            };
            let top = folder.canonicalize().expect("the folder is there");
            let inside = file.strip_prefix(top);
            inside
                .map(|path| path.display().to_string())
                .unwrap_or_default()
        }
    };
    let has = |text: &String| text.contains(&format!(" id=\"{anchor}\""));
    anchor.is_empty() || pages.get(&path).is_some_and(has)
}
