//! Tests that packaging/needs names the packages that the tests need, so that every machine can
//! install them.

use std::path::{Path, PathBuf};

/// If no list names a package of a test's `needs!("...")`, no machine installs the package.
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

/// Returns the Rust files below a folder. The tests of the house are left out, because they contain
/// the name of the macro.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of the checkout");
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.ends_with("house") {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}
