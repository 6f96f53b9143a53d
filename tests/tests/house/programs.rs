//! Tests that each test asks for the packages of the programs and Perl modules that it uses. A
//! machine without a package then skips the test. The sources are read, and not run (items.rs).

use super::items::{Item, Items};
use super::tokens::is_string;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Programs that an essential package of Debian or one of packaging/needs/build has.
const EVERYWHERE: &[&str] = &[
    "bash",
    "cat",
    "chmod",
    "cc",
    "date",
    "dpkg-query",
    "env",
    "false",
    "gzip",
    "id",
    "make",
    "mkfifo",
    "mount",
    "perl",
    "script",
    "setpriv",
    "sh",
    "sleep",
    "timeout",
    "touch",
    "true",
    "umount",
    "unshare",
];

/// The packages of each other program. Each package alone brings the program.
const PACKAGES: &[(&str, &[&str])] = &[
    ("analog", &["analog"]),
    ("apache2", &["apache2-bin", "apache2"]),
    ("chromium", &["chromium"]),
    ("couriergraph.pl", &["couriergraph"]),
    ("curl", &["curl"]),
    ("git", &["git", "gitweb"]),
    ("mailgraph", &["mailgraph"]),
    ("openssl", &["openssl"]),
    ("pebble", &["pebble"]),
    ("pebble-challtestsrv", &["pebble"]),
    ("php-cgi", &["php-cgi"]),
    ("promtool", &["prometheus"]),
    ("redis-cli", &["redis-server"]),
    ("redis-server", &["redis-server"]),
    ("slowhttptest", &["slowhttptest"]),
    ("smokeping", &["smokeping"]),
    ("strace", &["strace"]),
    ("swish-e", &["swish-e"]),
    ("systemd-analyze", &["systemd"]),
];

/// Perl's modules outside of its standard library, and the packages that bring them. Modules of
/// random numbers are not here, because their test leaves out those that are missing.
const MODULES: &[(&str, &[&str])] = &[
    ("Apache::DBI", &["libapache-dbi-perl"]),
    ("BSD::Resource", &["libbsd-resource-perl"]),
    ("CGI", &["libcgi-pm-perl"]),
    ("DBD::SQLite", &["libdbd-sqlite3-perl"]),
    ("DBI", &["libdbi-perl", "libdbd-sqlite3-perl"]),
    ("LWP::UserAgent", &["libwww-perl"]),
];

/// The words before the name of a module that is loaded.
const LOADERS: &[&str] = &["use ", "require ", "PerlModule "];

/// Paths of the harness that lead to a start of a program, and the program.
const OF_THE_HARNESS: &[(&[&str], &str)] = &[
    (&["on_apache"], "apache2"),
    (&["Browser", "::", "start"], "chromium"),
    (&["Redis", "::", "start"], "redis-server"),
    (&["trace", "::", "calls"], "strace"),
    (&["trace", "::", "calls_of"], "strace"),
    (&["trace", "::", "failing"], "strace"),
];

/// The list of the harness that names the packages of Apache.
const APACHE: &str = "PACKAGES";

/// What stands before the name of a program that a test starts itself.
const COMMAND: [&str; 4] = ["Command", "::", "new", "("];

/// The folders of programs. A string that contains such a path starts the program, or has a server
/// start it.
const FOLDERS: &[&str] = &["/usr/bin/", "/usr/sbin/", "/bin/"];

/// What a test and all that it reaches say.
#[derive(Debug, Default)]
struct Reach {
    /// The names of programs and modules.
    used: BTreeSet<String>,
    /// The contents of the strings, such as the names of packages.
    strings: BTreeSet<String>,
}

#[test]
fn tests_ask_for_the_packages_of_what_they_use() {
    let (mut wrong, mut used) = (String::new(), 0);
    for (name, files) in test_programs() {
        let mut items = Items::default();
        for file in &files {
            items.read(file, &fs::read_to_string(file).expect("a source"));
        }
        for test in items.tests() {
            let reach = Reach::of(&items.reached_from(test));
            used += reach.used.len();
            for line in reach.unasked() {
                wrong += &format!("{name}: {} {line}\n", test.name);
            }
        }
    }
    assert!(used > 100, "only {used} uses were found");
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn use_without_a_need_is_found_through_functions_and_constants() {
    let source = r#"
        const RUN: &str = "FastCgiServer /usr/bin/php-cgi -processes 2";
        fn site() -> Builder { Server::builder().conf(RUN) }
        #[test]
        fn one() { site().start(); }
        #[test]
        fn two() { needs!("php-cgi"); site().start(); }
        #[test]
        fn three() { Command::new("strange").spawn(); }
        #[test]
        fn four() { Command::new("/bin/sh"); let calls = trace::calls(&server); }
        #[test]
        fn five() { other::run(); Command::new("curl"); }
        #[test]
        fn six() { site().script("use DBI ();") }
    "#;
    let mut items = Items::default();
    items.read(Path::new("a.rs"), source);
    let other = r#"
        fn site() { Command::new("openssl") }
        pub fn run() { needs!("curl"); site() }
    "#;
    items.read(Path::new("b.rs"), other);
    let found: Vec<_> = items
        .tests()
        .map(|test| Reach::of(&items.reached_from(test)).unasked().join(", "))
        .collect();
    // The tests are in the order of their names.
    let expected = [
        "uses openssl without needs!(\"openssl\")",
        "uses strace without needs!(\"strace\")",
        "uses php-cgi without needs!(\"php-cgi\")",
        "uses DBI without needs!(\"libdbi-perl\"), uses php-cgi without needs!(\"php-cgi\")",
        "uses strange, whose package is not listed here",
        "",
    ];
    assert_eq!(found, expected);
}

impl Reach {
    fn of(items: &[&Item]) -> Reach {
        let mut reach = Reach::default();
        for item in items {
            reach.note(&item.tokens);
        }
        reach
    }

    fn note(&mut self, tokens: &[String]) {
        for (at, token) in tokens.iter().enumerate() {
            if is_string(token) {
                let before = &tokens[at.saturating_sub(COMMAND.len())..at];
                self.note_string(contents(token), before == COMMAND);
            } else if token == APACHE {
                self.strings.insert("apache2-bin".to_owned());
            }
            for (path, program) in OF_THE_HARNESS {
                if tokens[at..].len() >= path.len() && tokens[at..at + path.len()] == **path {
                    self.used.insert(program.to_string());
                }
            }
        }
    }

    fn note_string(&mut self, text: &str, is_command: bool) {
        if is_command {
            return self.start(text.rsplit('/').next().unwrap_or(text));
        }
        for folder in FOLDERS {
            for rest in text.split(folder).skip(1) {
                self.start(rest.split(is_no_part_of_a_name).next().unwrap_or_default());
            }
        }
        for loader in LOADERS {
            for rest in text.split(loader).skip(1) {
                let module = rest
                    .split(is_no_part_of_a_module)
                    .next()
                    .unwrap_or_default();
                if MODULES.iter().any(|(known, _)| *known == module) {
                    self.used.insert(module.to_owned());
                }
            }
        }
        self.strings.insert(text.to_owned());
    }

    fn start(&mut self, program: &str) {
        if !program.is_empty() && !EVERYWHERE.contains(&program) {
            self.used.insert(program.to_owned());
        }
    }

    /// Returns the uses whose packages are not asked for.
    fn unasked(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for program in &self.used {
            let known = PACKAGES
                .iter()
                .chain(MODULES)
                .find(|(known, _)| known == program);
            let Some((_, packages)) = known else {
                let line = format!("uses {program}, whose package is not listed here");
                wrong.push(line);
                continue;
            };
            if !packages.iter().any(|one| self.strings.contains(*one)) {
                wrong.push(format!("uses {program} without needs!({:?})", packages[0]));
            }
        }
        wrong
    }
}

fn is_no_part_of_a_module(one: char) -> bool {
    !(one.is_ascii_alphanumeric() || one == ':' || one == '_')
}

fn is_no_part_of_a_name(one: char) -> bool {
    !(one.is_ascii_alphanumeric() || "._-".contains(one))
}

/// Returns the text of a string between its quotes.
fn contents(token: &str) -> &str {
    let text = token
        .trim_end_matches('#')
        .strip_suffix('"')
        .unwrap_or(token);
    text.split_once('"').map_or(text, |(_, text)| text)
}

/// Returns each test program of this package with its files.
fn test_programs() -> Vec<(String, Vec<PathBuf>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the tests").flatten() {
        let path = entry.path();
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name != "house" {
            found.push((name, sources(&path)));
        }
    }
    found
}

fn sources(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).expect("a folder of tests").flatten();
    entries.flat_map(|entry| sources(&entry.path())).collect()
}
