//! Gives Apache each line that Mehari accepts with one value only (`mehari directives --json` has
//! them with the kind `value`). Apache knows the directive and accepts the value.

use super::accepted::{complaint, load};
use super::FOLDER;
use mehari_harness::site::Site;
use mehari_harness::{binary, needs};
use std::path::Path;
use std::process::Command;

/// Modules of the package apache2-bin that no file of `mods-available` loads.
const WITHOUT_A_FILE: [&str; 2] = ["case_filter", "case_filter_in"];

/// Returns the lines: names with their values.
fn lines() -> Vec<String> {
    let output = Command::new(binary::mehari())
        .args(["directives", "--json"])
        .output()
        .expect("mehari runs");
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = all["directives"].as_array().expect("a list");
    let only = rows.iter().filter(|row| row["kind"] == "value");
    only.map(|row| row["usage"].as_str().expect("a text").to_owned())
        .collect()
}

/// Returns the lines that load every module of the package apache2 but those that accept
/// connections.
pub(super) fn modules() -> String {
    let folder = Path::new(FOLDER).join("mods-available");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        Some(name.strip_suffix(".load")?.to_owned())
    });
    let mut names: Vec<String> = names
        .filter(|name| !name.starts_with("mpm_") && !["cgid", "perl"].contains(&&**name))
        .collect();
    names.sort();
    let (mut loaded, mut conf) = (Vec::new(), String::new());
    load("mpm_prefork", &mut loaded, &mut conf);
    for name in names {
        load(&name, &mut loaded, &mut conf);
    }
    for name in WITHOUT_A_FILE {
        let line = format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
        conf.push_str(&line);
    }
    conf
}

#[test]
fn apache_accepts_each_value_that_mehari_accepts_alone() {
    needs!("apache2");
    let site = Site::new();
    site.folder_for_all("run");
    let conf = format!(
        "ServerRoot {FOLDER}\nServerName localhost\nListen 127.0.0.1:8099\nErrorLog /dev/null\n{}",
        modules()
    );
    assert_eq!(complaint(&site, &conf), None, "the modules alone");
    let lines = lines();
    for line in &lines {
        let section = format!("<Directory /srv>\n{line}\n</Directory>\n");
        let places = [format!("{line}\n"), section];
        let said = places.map(|text| complaint(&site, &format!("{conf}{text}")));
        assert!(said.iter().any(Option::is_none), "{line}: {said:?}");
    }
    assert!(lines.len() > 40, "{lines:?}");
}
