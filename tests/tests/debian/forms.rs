//! Gives Apache and Mehari the forms of arguments in the tables `forms/accepted.txt` and
//! `forms/refused.txt`. Apache accepts all of them. Mehari accepts those of the first table, and
//! refuses those of the second: docs/reference/configuration.md says why.
//!
//! `[directory]` begins the lines that stand in a `<Directory>` of their own, and `[server]` those
//! outside of sections. `\n` separates the lines of a form.

use super::accepted::complaint;
use super::values::modules;
use super::{check, rows, text, FOLDER};
use mehari_harness::needs;
use mehari_harness::site::Site;
use std::collections::BTreeSet;
use std::fmt::Write;

const ACCEPTED: &str = include_str!("forms/accepted.txt");
const REFUSED: &str = include_str!("forms/refused.txt");

/// Appends the forms of a table. Returns each form with the number of its last line.
fn append<'t>(table: &'t str, conf: &mut String) -> Vec<(&'t str, usize)> {
    let (mut in_directory, mut forms) = (false, Vec::new());
    for form in table.lines() {
        if let "[directory]" | "[server]" = form {
            in_directory = form == "[directory]";
            continue;
        }
        let lines = form.replace("\\n", "\n");
        let folder = forms.len();
        let result = if in_directory {
            write!(conf, "<Directory /srv/{folder}>\n{lines}\n</Directory>\n")
        } else {
            writeln!(conf, "{lines}")
        };
        result.expect("a text");
        forms.push((form, conf.lines().count()));
    }
    forms
}

/// Returns the first form that ends at this line or behind it.
fn form_at<'t>(forms: &[(&'t str, usize)], line: usize) -> &'t str {
    let found = forms.iter().find(|(_, end)| *end >= line);
    found.map_or("", |(form, _)| form)
}

#[test]
fn each_form_that_apache_accepts_is_accepted_or_known_to_be_refused() {
    needs!("apache2", "libapache2-mod-perl2");
    let site = Site::new();
    let perl = "LoadModule perl_module /usr/lib/apache2/modules/mod_perl.so\n";
    let mut conf = format!(
        "ServerRoot {FOLDER}\nServerName localhost\nListen 127.0.0.1:8099\nErrorLog /dev/null\n\
         Mutex file:{} default\n{}{perl}",
        site.root().display(),
        modules()
    );
    let mut forms = append(ACCEPTED, &mut conf);
    let refused = append(REFUSED, &mut conf);
    forms.extend_from_slice(&refused);
    let said = complaint(&site, &conf);
    assert_eq!(said, None, "Apache refuses a form");
    let said = check(&site, &site.write("forms.conf", &conf));
    let (mut found, mut differences) = (BTreeSet::new(), Vec::new());
    for problem in rows(&said, "problems") {
        let line = problem["line"].as_u64().unwrap_or_default();
        let form = form_at(&forms, usize::try_from(line).expect("a line"));
        found.insert(form);
        if !refused.iter().any(|(known, _)| *known == form) {
            differences.push(format!("{form}: {}", text(problem, "message")));
        }
    }
    let accepted = refused.iter().filter(|(form, _)| !found.contains(form));
    differences.extend(accepted.map(|(form, _)| format!("{form}: accepted")));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(forms.len() > 1000, "{}", forms.len());
}
