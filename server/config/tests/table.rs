//! Tests the directive table, row by row.

use mehari_config::{
    Directive, DirectivePlace, Errand, ErrandResult, Ground, Interpreter, Shape, Site, DIRECTIVES,
    HTTPD_VERSION, REFUSED, SECTIONS,
};

fn load(text: &str) -> Result<Site, mehari_config::Problems> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("httpd.conf");
    std::fs::write(&file, text).expect("written");
    Site::load_with(&file, &[], &mut Reading)
}

/// An interpreter that reports an error for the code `}` only.
struct Reading;

impl Interpreter for Reading {
    fn run(&mut self, _: &Ground<'_>, errand: Errand<'_>) -> Result<ErrandResult, String> {
        match errand {
            Errand::Section { code: "}", .. } => Err("syntax error".to_string()),
            _ => Ok(ErrandResult::default()),
        }
    }
}

/// Returns the lines around a row's example that make it valid. `%` is the place of the example.
fn surroundings(row: &Directive) -> &'static str {
    match row.name {
        // The example names a file or a macro that does not exist, so its line is skipped.
        "Include" | "Use" => "<IfDefine NEVER>\n%\n</IfDefine>\n",
        "MDomain" => "MDCertificateAgreement accepted\n%\n",
        _ if row.place == DirectivePlace::Pool => "<PerlPool shop>\n%\n</PerlPool>\n",
        _ if row.place == DirectivePlace::Inside => {
            "<PerlPool shop>\n</PerlPool>\n<Location /x>\n%\n</Location>\n"
        }
        _ => "%\n",
    }
}

#[test]
fn every_row_accepts_its_example() {
    for row in Directive::all() {
        for name in row.names() {
            let written = format!("{name} {}", row.example);
            let text = surroundings(row).replace('%', &written);
            if let Err(problems) = load(&text) {
                panic!("{written}: {problems}");
            }
        }
    }
}

#[test]
fn every_row_refuses_a_wrong_value_and_names_its_position() {
    for row in Directive::all().filter(|row| row.ignored.is_none()) {
        let text = match row.place {
            DirectivePlace::Pool => {
                format!("<PerlPool x>\n  {} {}\n</PerlPool>\n", row.name, row.wrong)
            }
            DirectivePlace::Inside => {
                format!("<Location /x>\n  {} {}\n</Location>\n", row.name, row.wrong)
            }
            _ => format!("# first\n  {} {}\n", row.name, row.wrong),
        };
        let problems = load(&text).expect_err(row.name);
        let problem = &problems.problems[0];
        assert_eq!(problem.line, 2, "{}: {problem}", row.name);
        assert!(
            problem.column as usize > row.name.len(),
            "{}: {problem}",
            row.name
        );
        assert!(
            problem.message.contains("expected"),
            "{}: {problem}",
            row.name
        );
    }
}

#[test]
fn every_row_that_needs_arguments_refuses_an_empty_list() {
    let takes_none = |row: &Directive| matches!(row.shape, Shape::Words { least: 0, .. });
    let takes_some = |row: &&Directive| row.ignored.is_none() && !takes_none(row);
    for row in Directive::all().filter(takes_some) {
        let text = match row.place {
            DirectivePlace::Pool | DirectivePlace::Inside => {
                surroundings(row).replace('%', row.name)
            }
            _ => row.name.to_owned(),
        };
        let problems = load(&text).expect_err(row.name);
        let message = &problems.problems[0].message;
        assert!(
            message.contains("an argument is missing; expected"),
            "{message}"
        );
        assert!(message.contains(row.name), "{message}");
    }
}

#[test]
fn every_row_is_refused_outside_its_place() {
    for row in Directive::all().filter(|row| !["Include", "Use"].contains(&row.name)) {
        let app = if row.name.ends_with("Handler") {
            "PSGIApp app.psgi\n"
        } else {
            ""
        };
        let text = format!(
            "<PerlPool shop>\n</PerlPool>\n<Location /x>\n{app}{} {}\n</Location>\n",
            row.name, row.example
        );
        // In a section these directives take no path, because the section gives the path.
        let text = if row.name.starts_with("ProxyPass") {
            text.replace(" /app http", " http")
                .replace(" ^/old/(.*)$ http", " http")
        } else if ["Alias", "ScriptAlias"].contains(&row.name) {
            let path = row.example.split_once(' ').expect("two words").1;
            text.replace(row.example, path)
        } else {
            text
        };
        let loaded = load(&text);
        match (row.place, loaded) {
            (DirectivePlace::Everywhere | DirectivePlace::Inside, Ok(_)) => {}
            (DirectivePlace::Everywhere | DirectivePlace::Inside, Err(problems)) => {
                panic!("{}: {problems}", row.name)
            }
            (DirectivePlace::Pool, Err(problems)) => {
                let message = problems.problems[0].message.as_str();
                assert!(message.contains("expected it in <PerlPool>"), "{message}");
            }
            (_, Ok(_)) => panic!("{} was accepted in a section", row.name),
            (_, Err(problems)) => {
                let message = problems.problems[0].message.as_str();
                assert!(message.contains("cannot stand in <Location>"), "{message}");
            }
        }
    }
}

#[test]
fn every_row_is_refused_outside_its_place_in_a_virtual_host() {
    for row in Directive::all().filter(|row| !["Include", "Use"].contains(&row.name)) {
        let own = match row.place {
            DirectivePlace::Team => "PerlOptions +Clone\n",
            DirectivePlace::Perl => "PerlOptions +Parent\n",
            _ => "",
        };
        let text = format!(
            "<PerlPool shop>\n</PerlPool>\n<VirtualHost *>\nPSGIApp app.psgi\n{own}{} {}\n</VirtualHost>\n",
            row.name, row.example
        );
        match (row.place, load(&text)) {
            (DirectivePlace::Pool, Err(_)) => {}
            (DirectivePlace::Server | DirectivePlace::Pool, Ok(_)) => {
                panic!("{} was accepted in a virtual host", row.name)
            }
            (DirectivePlace::Server, Err(problems)) => {
                let message = problems.problems[0].message.as_str();
                assert!(
                    message.contains("cannot stand in <VirtualHost>"),
                    "{message}"
                );
            }
            (DirectivePlace::Shared, Ok(site)) => {
                let note = site.source.notes.last().expect("a note");
                assert_eq!(note.kind, mehari_config::NoteKind::Ignored, "{note}");
            }
            (_, Ok(_)) => {}
            (_, Err(problems)) => panic!("{}: {problems}", row.name),
        }
    }
}

#[test]
fn every_row_stands_in_a_pool_or_is_refused_there() {
    for row in Directive::all().filter(|row| !["Include", "Use"].contains(&row.name)) {
        let text = format!(
            "<PerlPool shop>\n{} {}\n</PerlPool>\n",
            row.name, row.example
        );
        // A group alone is refused because a user is missing.
        let text = text.replace("Group www", "User www-data\nGroup www");
        match (row.is_for_pools(), load(&text)) {
            (true, Err(problems)) => panic!("{}: {problems}", row.name),
            (false, Ok(_)) => panic!("{} was accepted in a pool", row.name),
            (true, Ok(_)) => {}
            (false, Err(problems)) => {
                let message = problems.problems[0].message.as_str();
                assert!(message.contains("cannot stand in <PerlPool>"), "{message}");
            }
        }
    }
}

#[test]
fn a_written_default_changes_nothing() {
    for row in Directive::all().filter(|row| !row.default.is_empty()) {
        let silent = load("").expect("an empty file is right");
        let written = load(&format!("{} {}", row.name, row.default)).expect(row.name);
        let print = |site: &Site| {
            let parts = (
                &site.main.base,
                site.perl(),
                site.workers(),
                &site.limits,
                &site.main.tls,
                &site.logs,
            );
            serde_json::to_string(&parts).expect("JSON")
        };
        assert_eq!(print(&silent), print(&written), "{}", row.name);
    }
}

#[test]
fn every_ignored_directive_is_noted_with_its_reason() {
    for row in Directive::all() {
        if let Some(reason) = row.ignored {
            let site = load(&format!("{} some thing", row.name)).expect(row.name);
            assert_eq!(site.source.notes[0].message, reason);
            assert!(site.source.notes[0]
                .to_string()
                .contains("ignored by design: "));
        }
    }
}

#[test]
fn names_are_unique_whatever_their_case() {
    let mut names: Vec<String> = Directive::all()
        .flat_map(|row| row.names())
        .map(str::to_ascii_lowercase)
        .collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn the_tuners_range_is_within_the_rows_bounds() {
    for row in Directive::all() {
        if let Some((least, most)) = row.tune {
            for value in [least, most] {
                let text = format!("{} {value}", row.name);
                if let Err(problems) = load(&text) {
                    panic!("{text}: {problems}");
                }
            }
        }
    }
}

#[test]
fn the_documentation_equals_the_table() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/directives.md"
    );
    let written = std::fs::read_to_string(file).expect("docs/reference/directives.md");
    let table = mehari_config::markdown();
    assert!(
        written == table,
        "run `mehari directives --markdown > docs/reference/directives.md`"
    );
    for group in DIRECTIVES {
        for row in group.rows {
            assert!(table.contains(row.name), "{}", row.name);
        }
    }
}

/// The list comes from Apache's server-info page with every module of Debian 12 loaded.
#[test]
fn every_apache_directive_is_a_row_a_section_or_refused_with_a_reason() {
    let list = include_str!("golden/apache-directives.txt");
    assert!(
        list.starts_with(&format!("# The directives that Apache {HTTPD_VERSION} ")),
        "the list is not of the release that <IfVersion> compares with"
    );
    let names = list
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(_, names)| names.split(' '));
    let mut unknown = Vec::new();
    let mut count = 0;
    for name in names {
        count += 1;
        let known = match name
            .strip_prefix('<')
            .and_then(|name| name.strip_suffix('>'))
        {
            Some(name) => {
                let mut sections = SECTIONS.iter();
                sections.any(|kind| kind.name.eq_ignore_ascii_case(name))
                    || name.eq_ignore_ascii_case("perl")
                    || is_refused(name)
            }
            // `Error` is always a problem: its text is the message.
            None if name == "Error" => true,
            None => Directive::named(name).is_some() != is_refused(name),
        };
        if !known {
            unknown.push(name);
        }
    }
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(count > 800, "{count} names");
}

fn is_refused(name: &str) -> bool {
    REFUSED.iter().any(|module| {
        let mut known = module.directives.iter();
        known.any(|known| known.eq_ignore_ascii_case(name))
    })
}

#[test]
fn directives_of_other_packages_are_refused_by_the_beginning_of_their_names() {
    for (line, module) in [
        ("SecRuleEngine On", "mod_security2.c"),
        ("php_admin_flag engine Off", "mod_php.c"),
        ("PHPINIDir /etc", "mod_php.c"),
        ("PassengerRoot /usr", "mod_passenger.c"),
        ("WSGIScriptAlias / /srv/app.wsgi", "mod_wsgi.c"),
        ("AuthzSVNAccessFile /etc/svn", "mod_authz_svn.c"),
        ("qs_srvmaxconnperip 5", "mod_qos.c"),
    ] {
        let problems = load(line).expect_err(line);
        let text = problems.problems[0].to_string();
        let expected = format!("is a directive of {module} that Mehari does not support: ");
        assert!(text.contains(&expected), "{text}");
    }
    // No known directive begins like those.
    let list = include_str!("golden/apache-directives.txt");
    let apaches = list.split([' ', '\n']).filter(|word| !word.ends_with(':'));
    let ours = Directive::all().flat_map(|row| row.names());
    for name in ours.chain(apaches) {
        let begins = |known: &&mehari_config::Foreign| {
            let start = name.get(..known.prefix.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(known.prefix))
        };
        let is_old_name = name == "PHP_Fix_Pathinfo_Enable";
        assert!(
            is_old_name || !mehari_config::FOREIGN.iter().any(|known| begins(&known)),
            "{name}"
        );
    }
}

#[test]
fn a_refused_directive_names_its_module_and_the_reason() {
    let problems = load("AuthLDAPURL ldap://x/\n").expect_err("a problem");
    let text = problems.problems[0].to_string();
    assert!(
        text.contains("1:1: `AuthLDAPURL` is a directive of mod_authnz_ldap.c"),
        "{text}"
    );
    assert!(text.contains("Net::LDAP"), "{text}");
}
