//! Gives each configuration file of Debian's packages to `apache2 -t` and to `mehari check`. Mehari
//! accepts what Apache accepts, or refuses a line with the reason that docs/reference/directives.md
//! gives.

use super::{check, installed, rows, text, FOLDER, VARIABLES};
use mehari_harness::site::Site;
use mehari_harness::{binary, needs};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The modules that Debian enables with the package apache2, and those that packages enable.
const MODULES: &[&str] = &[
    "mpm_prefork",
    "access_compat",
    "actions",
    "alias",
    "auth_basic",
    "authn_core",
    "authn_file",
    "authz_core",
    "authz_host",
    "authz_user",
    "autoindex",
    "cgi",
    "deflate",
    "dir",
    "env",
    "expires",
    "fcgid",
    "filter",
    "headers",
    "include",
    "macro",
    "mime",
    "negotiation",
    "perl",
    "proxy",
    "proxy_fcgi",
    "proxy_http",
    "reqtimeout",
    "rewrite",
    "setenvif",
    "socache_shmcb",
    "ssl",
    "status",
    "userdir",
];

/// The words of problems for which the documents give a reason elsewhere than in the table of
/// refused directives.
const EXPLAINED: &[(&str, &str)] = &[("ldap.conf", "ldap-status")];

/// Returns the configuration files of the installed packages: for Apache's folders, or in a folder
/// of the package's own.
pub fn files() -> Vec<PathBuf> {
    let folders = ["mods-available", "conf-available", "sites-available"];
    let mut files: Vec<PathBuf> = folders.iter().flat_map(|one| installed(one)).collect();
    let own = std::fs::read_dir("/etc").into_iter().flatten().flatten();
    let own = own.filter(|folder| folder.path() != Path::new(FOLDER));
    let entries = own.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten());
    files.extend(entries.flatten().map(|entry| entry.path()).filter(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.contains("apache") && name.ends_with(".conf") && file.is_file()
    }));
    let mut seen = std::collections::BTreeSet::new();
    files.retain(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
    files
}

/// Appends the lines that load a module, after those of the modules that it depends on.
pub fn load(name: &str, loaded: &mut Vec<String>, conf: &mut String) {
    let file = Path::new(FOLDER).join(format!("mods-available/{name}.load"));
    let Ok(text) = std::fs::read_to_string(&file) else {
        return;
    };
    if loaded.iter().any(|known| known == name) {
        return;
    }
    loaded.push(name.to_owned());
    let depends = text
        .lines()
        .find_map(|line| line.strip_prefix("# Depends:"));
    for other in depends.unwrap_or_default().split_whitespace() {
        load(other, loaded, conf);
    }
    let _ = writeln!(conf, "Include {}", file.display());
}

/// Returns the lines that load the modules, without the one that accepts connections.
pub fn modules() -> String {
    let (mut loaded, mut lines) = (Vec::new(), String::new());
    for name in &MODULES[1..] {
        load(name, &mut loaded, &mut lines);
    }
    lines
}

/// Returns Apache's complaint about a configuration, or nothing.
pub fn complaint(site: &Site, conf: &str) -> Option<String> {
    let file = site.write("apache.conf", conf);
    let mut command = Command::new("/usr/sbin/apache2");
    command.arg("-t").arg("-f").arg(file);
    for name in VARIABLES {
        command.env(name, site.root().join("run"));
    }
    command
        .env("APACHE_RUN_USER", "www-data")
        .env("APACHE_RUN_GROUP", "www-data");
    let output = command.output().expect("apache2 can be run");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then_some(said)
}

#[test]
fn what_apache_accepts_is_accepted_or_refused_for_a_documented_reason() {
    needs!("apache2", "libapache2-mod-perl2", "libapache2-mod-fcgid");
    let documented = binary::workspace().join("docs/reference/directives.md");
    let documented = std::fs::read_to_string(documented).expect("the table of directives");
    let site = Site::new();
    site.folder_for_all("run");
    let (mut accepted, mut wrong) = (Vec::new(), Vec::new());
    for file in files() {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let module = file.with_extension("load");
        let module = module.file_stem().filter(|_| module.exists());
        let module = module.map(|name| name.to_string_lossy().into_owned());
        let (mut loaded, mut modules) = (Vec::new(), String::new());
        let is_mpm = module.as_deref().is_some_and(|one| one.starts_with("mpm_"));
        for name in module.as_deref().into_iter().chain(MODULES.iter().copied()) {
            if !(is_mpm && name == MODULES[0]) {
                load(name, &mut loaded, &mut modules);
            }
        }
        let shown = file.display();
        let apache = format!(
            "ServerRoot {FOLDER}\nServerName localhost\nListen 127.0.0.1:8099\n\
             ErrorLog /dev/null\n{modules}Include {shown}\n"
        );
        if complaint(&site, &apache).is_some() {
            continue;
        }
        accepted.push(name.clone());
        let conf = format!("ServerRoot {FOLDER}\n{modules}Include {shown}\n");
        let said = check(&site, &site.write("one.conf", &conf));
        for problem in rows(&said, "problems") {
            let message = text(problem, "message");
            let is_explained = EXPLAINED
                .iter()
                .any(|(of, word)| *of == name && message.contains(word));
            if !is_explained && !gives_documented_reason(message, &documented) {
                wrong.push(format!("{shown}:{}: {message}", problem["line"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The files of the package apache2 itself are more than these.
    assert!(accepted.len() >= 20, "Apache accepted only {accepted:?}");
}

/// Tells whether the message is of a directive in docs/reference/directives.md, with the reason
/// that the table gives: a directive of "Apache's, not done here", or a value other than the one of
/// "One value only".
fn gives_documented_reason(message: &str, documented: &str) -> bool {
    let quoted = |text: &str| Some(text.split_once('`')?.1.split_once('`')?.0.to_owned());
    let reason = match message.split_once("does not support: ") {
        Some((_, reason)) => Some(reason),
        None => message
            .strip_prefix("expected `")
            .and_then(|rest| Some(rest.split_once("`: ")?.1)),
    };
    let (Some(directive), Some(reason)) = (quoted(message), reason) else {
        return false;
    };
    // A row of another package's module has only the beginning of the names: `Sec...`.
    let lower = directive.to_ascii_lowercase();
    let begins = |word: &str| {
        let prefix = word.strip_suffix("...").unwrap_or("(none)");
        lower.starts_with(&prefix.to_ascii_lowercase())
    };
    let is_named =
        |line: &str| line.contains(&format!("`{directive}`")) || line.split('`').any(begins);
    let is_row = |line: &&str| is_named(line) && line.contains(reason);
    documented.lines().any(|line| is_row(&line))
}
