//! Lists the documents of the repository, so that the crate holds their texts.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Documents outside of docs/.
const ALSO: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "packaging/INSTALL.md",
];

fn main() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<PathBuf> = ALSO.iter().map(|name| top.join(name)).collect();
    collect(&top.join("docs"), &mut files);
    let mut code = "&[\n".to_owned();
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&top).expect("a file of the repository");
        writeln!(code, "({name:?}, include_str!({file:?})),").expect("written");
    }
    code += "]\n";
    let out = std::env::var_os("OUT_DIR").expect("cargo gives a folder");
    std::fs::write(Path::new(&out).join("sources.rs"), code).expect("written");
}

/// Adds the documents and pictures below a folder, in the order of their names.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    let entries = std::fs::read_dir(folder).expect("a folder of the repository");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_ours = path
            .extension()
            .is_some_and(|end| end == "md" || end == "svg");
        if path.is_dir() {
            collect(&path, files);
        } else if is_ours {
            files.push(path);
        }
    }
}
