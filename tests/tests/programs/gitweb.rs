//! gitweb, unchanged from its package, under ModPerl::Registry: the pages of a small repository.

use mehari_harness::{needs, Builder, Pair, Request, Server};
use std::path::Path;
use std::process::Command;

fn site() -> Builder {
    let builder = Server::builder().program_site("gitweb").folder("projects");
    make_repository(&builder.folder_of("projects").join("one.git"));
    builder
}

/// A bare repository of three commits, the same each time: times and names are fixed, so ids are.
fn make_repository(bare: &Path) {
    let work = bare.with_extension("work");
    let git = |folder: &Path, words: &[&str]| {
        let status = Command::new("git")
            .args([
                "-c",
                "user.name=A Tester",
                "-c",
                "user.email=tester@example.org",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(["-c", "safe.directory=*", "-C"])
            .arg(folder)
            .args(words)
            .env("GIT_AUTHOR_DATE", "1000000000 +0000")
            .env("GIT_COMMITTER_DATE", "1000000000 +0000")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdout(std::process::Stdio::null())
            .status()
            .expect("git can be run");
        assert!(status.success(), "git {words:?}");
    };
    std::fs::create_dir_all(&work).expect("a folder of the site");
    git(&work, &["init", "--quiet"]);
    for (name, text) in [
        ("README", "A repository.\n"),
        ("hello.pl", "#!/usr/bin/perl\nprint \"hello <world>\\n\";\n"),
        ("README", "A repository.\nWith two lines \u{e4}.\n"),
    ] {
        std::fs::write(work.join(name), text).expect("own folder");
        git(&work, &["add", name]);
        git(
            &work,
            &[
                "commit",
                "--quiet",
                "-m",
                &format!("add {name}\n\nBecause of <{name}>."),
            ],
        );
    }
    git(&work, &["tag", "-a", "v1", "-m", "the first"]);
    git(
        &work,
        &["clone", "--quiet", "--bare", ".", &bare.to_string_lossy()],
    );
    std::fs::remove_dir_all(&work).expect("own folder");
    std::fs::write(bare.join("description"), "One project\n").expect("own folder");
}

/// Pages by their action, as the links of gitweb ask for them.
const PAGES: &[&str] = &[
    "",
    "?a=project_index",
    "?a=opml",
    "?p=one.git",
    "?p=one.git;a=summary",
    "?p=one.git;a=shortlog",
    "?p=one.git;a=log",
    "?p=one.git;a=commit",
    "?p=one.git;a=commitdiff",
    "?p=one.git;a=commitdiff_plain",
    "?p=one.git;a=patch",
    "?p=one.git;a=tree",
    "?p=one.git;a=blob;f=hello.pl",
    "?p=one.git;a=blob_plain;f=hello.pl",
    "?p=one.git;a=blame;f=README",
    "?p=one.git;a=history;f=README",
    "?p=one.git;a=tags",
    "?p=one.git;a=heads",
    "?p=one.git;a=tag;h=refs/tags/v1",
    "?p=one.git;a=rss",
    "?p=one.git;a=atom",
    "?p=one.git;a=search;s=Because",
    "?p=one.git;a=search;st=grep;s=hello",
    "?p=one.git;a=snapshot;h=HEAD;sf=tgz",
];

/// Requests that gitweb refuses, and the status.
const REFUSED: &[(&str, u16)] = &[
    ("?p=none.git", 404),
    ("?p=one.git;a=nonsense", 400),
    ("?p=one.git;a=blob;f=../../etc/passwd", 400),
];

#[test]
fn pages_of_a_repository_are_the_same() {
    needs!("gitweb");
    let mut user = Pair::start(site).mask(VARYING);
    let request = |page: &str| Request::get(&format!("/gitweb/gitweb.cgi{page}"));
    let mut differing: Vec<_> = PAGES
        .iter()
        .filter_map(|page| user.compare(&request(page)).err())
        .collect();
    for (page, status) in REFUSED {
        differing.extend(user.compare_refusal(&request(page), *status).err());
    }
    assert!(
        differing.is_empty(),
        "{}\n{}",
        differing.join("\n"),
        user.ends_of_logs()
    );
    assert!(user
        .get("/gitweb/gitweb.cgi?p=one.git")
        .expect(200)
        .contains("add hello.pl"));
}

/// Ages, the generator's line (it names the server's software), and a page's duration.
const VARYING: &[(&str, &str)] = &[
    (
        r"\d+ (?:sec|min|hours?|days?|weeks?|months?|years?) ago",
        "(age)",
    ),
    (r"git/[\d.]+ [^<\n]*", "(software)"),
    (r"<!-- git web interface version [^>]*-->", "(version)"),
    (r#"<meta name="generator"[^>]*>"#, "(generator)"),
    (r"\d+\.\d+ seconds", "(seconds)"),
];
