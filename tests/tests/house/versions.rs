//! The program, its Perl side and the documents name one version, and CHANGELOG.md has its part.

use mehari_harness::binary;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn read(file: &str) -> String {
    std::fs::read_to_string(binary::workspace().join(file)).expect("a file of the repository")
}

/// Returns the numbers with points that follow the mark, wherever it stands in the file.
fn found(file: &str, mark: &str) -> Vec<String> {
    let text = read(file);
    let rests = text.split(mark).skip(1);
    let numbers = rests.map(|rest| {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        rest[..end.unwrap_or(rest.len())].to_owned()
    });
    numbers.filter(|number| number.contains('.')).collect()
}

#[test]
fn one_version_is_named_everywhere() {
    let numbers: Vec<u32> = VERSION
        .split('.')
        .map(|it| it.parse().expect("a number"))
        .collect();
    let perls = format!("{}.{:03}{:03}", numbers[0], numbers[1], numbers[2]);
    for (file, mark, version) in [
        ("perl/xs/mehari.h", "MEHARI_RELEASE \"", VERSION),
        ("perl/lib/Mehari.pm", "$VERSION = '", &perls),
        ("perl/lib/Mehari/State.pm", "$VERSION = '", &perls),
        ("perl/lib/Mehari/Cache.pm", "$VERSION = '", &perls),
        ("README.md", "mehari_", VERSION),
        ("packaging/INSTALL.md", "mehari_", VERSION),
        ("packaging/INSTALL.md", "mehari-", VERSION),
        ("docs/how-to/containers.md", "mehari-", VERSION),
        ("docs/how-to/containers.md", "mehari:", VERSION),
    ] {
        let named = found(file, mark);
        assert!(!named.is_empty(), "{file} names no version");
        for name in named {
            assert_eq!(name, version, "{file}");
        }
    }
    let parts = found("CHANGELOG.md", "\n## [");
    assert_eq!(
        parts.first().map(String::as_str),
        Some(VERSION),
        "CHANGELOG.md"
    );
}
