//! The house's rule: crates depend downwards only. See ARCHITECTURE.md.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A crate of ours and the crates of ours it may use.
const ARROWS: &[(&str, &[&str])] = &[
    (
        "mehari",
        &[
            "mehari-config",
            "mehari-cgi",
            "mehari-pool",
            "mehari-front",
            "mehari-lua-pool",
            "mehari-observe",
            "mehari-compat",
            "mehari-load",
            "mehari-record",
        ],
    ),
    (
        "mehari-front",
        &[
            "mehari-cgi",
            "mehari-net",
            "mehari-filewatch",
            "mehari-resolve",
            "mehari-auth",
            "mehari-cache",
            "mehari-config",
            "mehari-http",
            "mehari-pool",
            "mehari-upstream",
            "mehari-edge",
            "mehari-observe",
        ],
    ),
    ("mehari-auth", &["mehari-config"]),
    ("mehari-resolve", &[]),
    ("mehari-filewatch", &["mehari-config", "mehari-observe"]),
    (
        "mehari-net",
        &["mehari-config", "mehari-http", "mehari-observe"],
    ),
    (
        "mehari-cgi",
        &["mehari-net", "mehari-observe", "mehari-pool"],
    ),
    ("mehari-edge", &[]),
    ("mehari-lua-pool", &["mehari-edge"]),
    (
        "mehari-pool",
        &[
            "mehari-config",
            "mehari-http",
            "mehari-wire",
            "mehari-observe",
        ],
    ),
    ("mehari-http", &["mehari-config", "mehari-observe"]),
    ("mehari-upstream", &["mehari-config"]),
    ("mehari-observe", &["mehari-config"]),
    ("mehari-wire", &[]),
    ("mehari-cache", &["mehari-config"]),
    ("mehari-config", &[]),
    // The bench knows the server only by HTTP, /proc and its control socket.
    ("mehari-compat", &["mehari-load"]),
    ("mehari-load", &["mehari-record"]),
    ("mehari-record", &[]),
    ("mehari-harness", &[]),
    ("mehari-tests", &["mehari-harness"]),
    (
        "mehari-fuzz",
        &[
            "mehari-config",
            "mehari-wire",
            "mehari-pool",
            "mehari-front",
            "mehari-harness",
        ],
    ),
];

#[test]
fn crates_depend_downwards_only() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let output = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
            "--manifest-path",
            manifest,
        ])
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert_eq!(
        packages.len(),
        ARROWS.len(),
        "every crate has its line in the table"
    );
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let (_, allowed) = ARROWS
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap_or_else(|| panic!("{name} has no line in the table"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let used = dependency["name"].as_str().expect("a name");
            let ours = used.starts_with("mehari") && dependency["kind"].is_null();
            assert!(
                !ours || allowed.contains(&used),
                "{name} must not depend on {used}"
            );
        }
    }
}

/// A package that a test asks for, `needs!("...")`, and no list names would be missing on each machine.
#[test]
fn packages_that_tests_need_are_named_in_a_list() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let lists = ["build", "demo", "test", "ci", "programs"];
    let named: Vec<String> = lists
        .iter()
        .map(|list| read(&top.join("packaging/needs").join(list)))
        .flat_map(|text| text.lines().map(first_word).collect::<Vec<_>>())
        .collect();
    let mut asked = 0;
    for file in sources(&top.join("tests/tests")) {
        for words in read(&file).split("needs!(").skip(1) {
            let (words, _) = words.split_once(");").expect("the macro ends");
            for package in words.split('"').skip(1).step_by(2) {
                asked += 1;
                assert!(
                    named.iter().any(|name| name == package),
                    "{}: no list of packaging/needs names {package}",
                    file.display()
                );
            }
        }
    }
    assert!(asked > 10, "only {asked} packages are asked for");
}

fn first_word(line: &str) -> String {
    let word = line
        .split(|at: char| at == '#' || at.is_whitespace())
        .next();
    word.unwrap_or_default().to_owned()
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The Rust files below a folder; this one, which names the macro, is none of them.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of the checkout");
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("house.rs") {
            found.push(path);
        }
    }
    found
}
