//! Web programs of Debian packages on CGI, unchanged but for the paths in their configuration, as
//! each package's own documentation sets them up.

mod graphs;
mod pages;
mod search;
mod wikis;

use crate::rungs;
use mehari_harness::{Builder, Pair, Request, Server};
use std::path::Path;
use std::process::{Command, Stdio};

/// The scripts of a package in the folder `cgi`, on each rung, and a folder `data` for all users.
fn scripts_of(folder: &str) -> Builder {
    Server::builder()
        .program_site("rungs")
        .copied(folder, "cgi")
        .folder("data")
}

/// A single script of a package, with words replaced as an administrator does.
fn script(path: &str, words: &[(&str, &str)]) -> Builder {
    let name = Path::new(path).file_name().expect("a script has a name");
    let name = format!("cgi/{}", name.to_string_lossy());
    let text = std::fs::read_to_string(path).expect("the package has the script");
    Server::builder()
        .program_site("rungs")
        .folder("cgi")
        .folder("data")
        .file(&name, &text)
        .fill_in(&[&name], words)
}

/// Runs a program of the package, which prepares data of the site.
fn run(program: &str, arguments: &[&str], folder: &Path) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
}

/// Sends the requests to each rung, and expects a word in the answer to the first request.
fn walk(
    site: fn() -> Builder,
    mask: &[(&'static str, &'static str)],
    requests: &[Request],
    word: &str,
) {
    let mut user = Pair::start(site).mask(mask);
    rungs::compare_on_every_rung(&mut user, requests);
    let mut first = requests[0].clone();
    first.target = format!("/auto{}", first.target);
    let page = user.send(&first).expect(200);
    assert!(page.contains(word), "{page}");
}
