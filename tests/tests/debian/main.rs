//! Tests `mehari check` with Debian's configuration of Apache and with the configuration files of
//! Debian's packages. Each directive is supported, or is ignored on purpose with a note of the
//! reason, or is reported as unknown with its line.
//!
//! The tests read only installed files, at their installed paths. `accepted` compares with
//! `apache2 -t`, and so does `forms` for many forms of arguments. `places` compares with the table
//! of `apache2 -L`, `served` with what Apache serves, and `values` with the values that Apache
//! knows.

mod accepted;
mod forms;
mod places;
mod served;
mod values;

use mehari_harness::binary;
use mehari_harness::needs;
use mehari_harness::site::Site;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "/etc/apache2";

/// Variables that the configuration needs. Apache's init script sets them.
const VARIABLES: &[&str] = &[
    "APACHE_RUN_DIR",
    "APACHE_LOG_DIR",
    "APACHE_LOCK_DIR",
    "APACHE_PID_FILE",
];

/// Files with directives that Mehari does not support, and the directives that are reported for
/// each.
const UNKNOWN: &[(&str, &[&str])] = &[
    ("ldap.conf", &["ldap-status"]),
    ("php8.2-cgi.conf", &["application/x-httpd-php"]),
];

/// The packages whose files are known exactly. Other files on a machine may contain any directive.
/// For these, the check must only report each unknown directive with its line.
const KNOWN: &[&str] = &[
    "apache2",
    "gitweb",
    "javascript-common",
    "libapache2-mod-fcgid",
    "libapache2-mod-perl2",
    "php8.2-cgi",
];

fn is_of_a_known_package(file: &Path) -> bool {
    let output = Command::new("dpkg-query").arg("-S").arg(file).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    // If dpkg does not answer, the file counts as known, which is the strict rule.
    text.ok()
        .and_then(|text| Some(text.split_once(':')?.0.to_owned()))
        .is_none_or(|package| KNOWN.contains(&package.as_str()))
}

fn check(site: &Site, conf: &Path) -> serde_json::Value {
    let mut command = Command::new(binary::mehari());
    command.args(["check", "--json", "-f"]).arg(conf);
    for name in VARIABLES {
        let place = match *name {
            "APACHE_PID_FILE" => "run/pid",
            _ => "run",
        };
        command.env(name, site.root().join(place));
    }
    command
        .env("APACHE_RUN_USER", "root")
        .env("APACHE_RUN_GROUP", "root");
    let output = command.output().expect("mehari runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|why| {
        let text = String::from_utf8_lossy(&output.stderr);
        panic!("{}: {why}\n{text}", conf.display())
    })
}

fn rows<'v>(said: &'v serde_json::Value, name: &str) -> Vec<&'v serde_json::Value> {
    let of = |value: &'v serde_json::Value| value.get(name).and_then(|rows| rows.as_array());
    of(said)
        .or_else(|| of(said.get("site")?))
        .map(|rows| rows.iter().collect())
        .unwrap_or_default()
}

fn text<'v>(row: &'v serde_json::Value, name: &str) -> &'v str {
    row.get(name)
        .and_then(|value| value.as_str())
        .unwrap_or_default()
}

/// Checks the notes. Each note tells what happened to a line. A note about an ignored line gives
/// the reason.
fn judge_notes(said: &serde_json::Value, file: &Path) -> usize {
    let notes = rows(said, "notes");
    for note in &notes {
        let kind = text(note, "kind");
        assert!(
            ["honoured", "ignored", "remark"].contains(&kind),
            "{}: {note}",
            file.display()
        );
        assert!(
            kind == "honoured" || !text(note, "message").is_empty(),
            "{}: nothing says why: {note}",
            file.display()
        );
    }
    notes.len()
}

fn installed(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(Path::new(FOLDER).join(folder));
    let files = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|end| end == "conf"))
        .collect();
    files.sort();
    files
}

#[test]
fn debians_configuration_of_apache_has_no_unknown_directive() {
    let conf = Path::new(FOLDER).join("apache2.conf");
    needs!("apache2");
    let site = Site::new();
    site.folder_for_all("run");
    let said = check(&site, &conf);
    assert_eq!(rows(&said, "problems").len(), 0, "{said}");
    assert!(
        judge_notes(&said, &conf) > 50,
        "hardly anything was read: {said}"
    );
}

#[test]
fn every_directive_of_debians_files_is_supported_ignored_or_reported() {
    let folders = ["mods-available", "conf-available", "sites-available"];
    let files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| installed(folder))
        .collect();
    needs!("apache2");
    assert!(!files.is_empty(), "{FOLDER} has no files");
    let site = Site::new();
    site.folder_for_all("run");
    for file in &files {
        // The file that loads the module is checked too, so that `<IfModule>` is true.
        let load = file.with_extension("load");
        let load = if load.exists() {
            format!("Include {}\n", load.display())
        } else {
            String::new()
        };
        let text_of = format!("ServerRoot {FOLDER}\n{load}Include {}\n", file.display());
        let said = check(&site, &site.write("one.conf", &text_of));
        judge_notes(&said, file);
        let name = file
            .file_name()
            .map(|name| name.to_string_lossy())
            .unwrap_or_default();
        let unknown = UNKNOWN.iter().find(|(known, _)| *known == name);
        let words = unknown.map_or(&[][..], |(_, words)| words);
        let problems = rows(&said, "problems");
        let is_known = is_of_a_known_package(file);
        for problem in problems {
            let message = text(problem, "message");
            assert_eq!(text(problem, "file"), file.to_string_lossy(), "{problem}");
            assert!(problem["line"].as_u64() > Some(0), "{problem}");
            assert!(
                !is_known || words.iter().any(|word| message.contains(word)),
                "{}: {message}",
                file.display()
            );
        }
    }
}

/// The files of the package apache2 in conf-enabled.
const OWN_CONF: &[&str] = &[
    "charset.conf",
    "localized-error-pages.conf",
    "other-vhosts-access-log.conf",
    "security.conf",
    "serve-cgi-bin.conf",
];

/// Makes Debian's configuration in the site's folder, without the files of other packages.
fn debians_own(site: &Site) -> PathBuf {
    let link = |name: &str| {
        let place = site.root().join(name);
        let from = Path::new(FOLDER).join(name);
        std::os::unix::fs::symlink(from, place).expect("a link");
    };
    for name in ["ports.conf", "magic", "mods-enabled", "mods-available"] {
        link(name);
    }
    site.folder_for_all("conf-enabled");
    site.folder_for_all("sites-enabled");
    site.folder_for_all("run");
    for name in OWN_CONF {
        let from = Path::new(FOLDER).join("conf-available").join(name);
        let place = site.root().join("conf-enabled").join(name);
        std::os::unix::fs::symlink(from, place).expect("a link");
    }
    let host = Path::new(FOLDER).join("sites-available/000-default.conf");
    let place = site.root().join("sites-enabled/000-default.conf");
    std::os::unix::fs::symlink(host, place).expect("a link");
    let exported = std::fs::read_to_string(Path::new(FOLDER).join("envvars")).expect("envvars");
    let run = site.root().join("run");
    let run = run.display();
    site.write(
        "envvars",
        &format!(
            "{exported}\nexport APACHE_RUN_USER=root APACHE_RUN_GROUP=root APACHE_LOG_DIR={run} \
             APACHE_PID_FILE={run}/pid\n"
        ),
    );
    let conf = std::fs::read_to_string(Path::new(FOLDER).join("apache2.conf")).expect("a file");
    site.write("apache2.conf", &conf)
}

/// A screen has 24 lines.
#[test]
fn the_check_of_debians_own_configuration_takes_three_screens() {
    needs!("apache2");
    let site = Site::new();
    let conf = debians_own(&site);
    let run = |options: &[&str]| {
        let mut command = Command::new(binary::mehari());
        command.arg("check").args(options).arg("-f").arg(&conf);
        let output = command.output().expect("mehari runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}{errors}");
        said
    };
    let said = run(&[]);
    let count = said.lines().count();
    assert!((30..=72).contains(&count), "{count} lines:\n{said}");
    assert!(said.contains("LoadModule\n"), "{said}");
    assert!(
        said.contains("\n  /icons/ "),
        "nothing is said of the URLs: {said}"
    );
    assert!(
        said.contains("/run/error.log"),
        "the variables of envvars are not known: {said}"
    );
    let all = run(&["--all"]);
    let each = |text: &str| text.matches("LoadModule is ignored by design").count();
    assert!(each(&said) == 0 && each(&all) > 5, "{all}");
}

/// docs/how-to/migrate-from-mod_perl.md: Mehari's own file includes Apache's.
#[test]
fn debians_own_configuration_is_included_with_its_variables() {
    needs!("apache2");
    let site = Site::new();
    let conf = debians_own(&site);
    site.folder_for_all("own");
    let text = format!(
        "ServerRoot {}\nInclude {}\n",
        site.root().display(),
        conf.display()
    );
    let own = site.write("own/mehari.conf", &text);
    let mut command = Command::new(binary::mehari());
    let output = command.arg("check").arg("-f").arg(&own).output();
    let output = output.expect("mehari runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.contains("/run/error.log"), "{said}");
    assert!(!said.contains("nothing is loaded"), "{said}");
}
