//! The house's rule: crates depend downwards only. See ARCHITECTURE.md.

use serde_json::Value;
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
