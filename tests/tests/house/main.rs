//! Tests the rules of the repository: a crate depends only on lower crates, the top-level modules
//! of a crate form no cycle, names are unique, and prose fits 100 columns. See ARCHITECTURE.md.

mod columns;
mod items;
mod modules;
mod names;
mod needs;
mod programs;
mod tokens;
mod versions;

use modules::Graph;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// Each crate of this repository, and the crates of this repository that it may use.
const ARROWS: &[(&str, &[&str])] = &[
    (
        "mehari",
        &[
            "mehari-config",
            "mehari-acme",
            "mehari-cgi",
            "mehari-pool",
            "mehari-wire",
            "mehari-front",
            "mehari-lua-pool",
            "mehari-observe",
            "mehari-compat",
            "mehari-load",
            "mehari-record",
            "mehari-profile",
            "mehari-trace",
            "mehari-memory",
            "mehari-time",
            "mehari-console",
            "mehari-loopback",
            "mehari-documents",
        ],
    ),
    (
        "mehari-front",
        &[
            "mehari-text",
            "mehari-fastcgi",
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
    ("mehari-auth", &["mehari-text", "mehari-config"]),
    ("mehari-resolve", &[]),
    ("mehari-filewatch", &["mehari-config", "mehari-observe"]),
    (
        "mehari-net",
        &["mehari-config", "mehari-http", "mehari-observe"],
    ),
    (
        "mehari-cgi",
        &["mehari-text", "mehari-net", "mehari-observe", "mehari-pool"],
    ),
    ("mehari-edge", &["mehari-text"]),
    ("mehari-lua-pool", &["mehari-fastcgi", "mehari-edge"]),
    (
        "mehari-pool",
        &[
            "mehari-config",
            "mehari-http",
            "mehari-wire",
            "mehari-observe",
        ],
    ),
    (
        "mehari-http",
        &["mehari-text", "mehari-config", "mehari-observe"],
    ),
    ("mehari-upstream", &["mehari-config", "mehari-http"]),
    ("mehari-acme", &["mehari-config"]),
    ("mehari-observe", &["mehari-text", "mehari-config"]),
    ("mehari-wire", &[]),
    ("mehari-cache", &["mehari-config"]),
    ("mehari-config", &["mehari-text"]),
    // The bench knows the server only by HTTP, /proc and its control socket.
    ("mehari-compat", &["mehari-load"]),
    ("mehari-load", &["mehari-record"]),
    ("mehari-fastcgi", &[]),
    ("mehari-text", &[]),
    ("mehari-record", &[]),
    ("mehari-profile", &["mehari-record"]),
    ("mehari-trace", &["mehari-record"]),
    ("mehari-memory", &["mehari-profile"]),
    ("mehari-time", &["mehari-record"]),
    ("mehari-console", &["mehari-profile", "mehari-loopback"]),
    ("mehari-loopback", &[]),
    ("mehari-documents", &["mehari-loopback"]),
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
    let packages = packages();
    assert_eq!(
        packages.len(),
        ARROWS.len(),
        "every crate has its line in the table"
    );
    for package in &packages {
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

#[test]
fn table_of_crates_has_no_cycle() {
    let uses = |name: &&str| -> &[&str] {
        let line = ARROWS.iter().find(|(known, _)| known == name);
        line.map_or(&[], |(_, uses)| uses)
    };
    for (name, _) in ARROWS {
        let mut reached: Vec<&str> = uses(name).to_vec();
        let mut at = 0;
        while at < reached.len() {
            assert_ne!(reached[at], *name, "{name} depends on itself");
            let more = uses(&reached[at])
                .iter()
                .filter(|one| !reached.contains(one));
            let more: Vec<&str> = more.copied().collect();
            reached.extend(more);
            at += 1;
        }
    }
}

#[test]
fn top_level_modules_of_a_crate_form_no_cycle() {
    let mut wrong = String::new();
    for package in packages() {
        let name = package["name"].as_str().expect("a name");
        if let Some(root) = root_of(&package) {
            wrong += &cycles(name, &modules::graph(&root));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Returns a text with the cycles of a crate and the uses that form them.
fn cycles(name: &str, graph: &Graph) -> String {
    let mut wrong = String::new();
    for knot in &modules::knots(graph) {
        wrong += &format!("{name}: a cycle of {knot:?}:\n");
        for module in knot {
            for (used, said) in graph[module]
                .iter()
                .filter(|(used, _)| knot.contains(*used))
            {
                wrong += &format!("    {module} -> {used} ({said})\n");
            }
        }
    }
    wrong
}

#[test]
fn cycle_is_found_in_every_form_of_paths() {
    let paths = [
        "use crate::b::Thing;",
        "use super::b::Thing;",
        "use crate::{c::Other, b::{self, Thing}};",
        "fn f() -> crate::b::Thing { todo!() }",
        "mod inner { use super::super::b::Thing; }",
        "use crate::Thing;",
        "use crate::Renamed;",
        "use crate::Starred;",
    ];
    for path in paths {
        let graph = planted(path);
        let knots = modules::knots(&graph);
        let knot: Vec<&str> = knots.iter().flatten().map(String::as_str).collect();
        assert_eq!(knot, ["a", "b"], "{path}");
        assert!(cycles("planted", &graph).contains("a -> b"), "{path}");
    }
}

#[test]
fn comments_strings_and_tests_do_not_count_as_uses() {
    let texts = [
        "// use crate::b::Thing;",
        "/* crate::b */",
        "const TEXT: &str = \"crate::b::Thing\";",
        "const TEXT: &str = r#\"\"crate::b::Thing\"#;",
        "const MARK: char = '\"'; use crate::c::Other; const END: char = '\"';",
        "#[cfg(test)]\nmod tests { use crate::b::Thing; }",
        "#[cfg(test)]\nuse crate::b::Thing;",
        "mod b { use super::c; } use b::c;",
        "pub(crate) fn b() {}",
    ];
    for text in texts {
        assert_eq!(modules::knots(&planted(text)), [], "{text}");
    }
}

/// Makes a crate with three modules: `b` uses `a`, and `text` is the source of `a`.
fn planted(text: &str) -> Graph {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("written");
    };
    let root = "mod a;\nmod b;\nmod c;\npub use b::{Renaming as Renamed, Thing};\npub use b::*;\n";
    write("lib.rs", root);
    write("a.rs", text);
    write("b.rs", "use crate::a;\npub struct Starred;\n");
    write("c.rs", "pub struct Other;\n");
    modules::graph(&folder.path().join("lib.rs"))
}

/// Returns the path of a package's root source.
fn root_of(package: &Value) -> Option<PathBuf> {
    let targets = package["targets"].as_array().expect("targets");
    let is_own = |target: &&Value| target["kind"][0] == "lib" || target["kind"][0] == "bin";
    let target = targets.iter().find(is_own)?;
    Some(target["src_path"].as_str().expect("a path").into())
}

/// Returns cargo's metadata of the workspace's crates.
fn packages() -> Vec<Value> {
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
    metadata["packages"].as_array().expect("packages").clone()
}
