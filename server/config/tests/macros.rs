//! Tests `<Macro>` and `Use`.

use mehari_config::{Problems, Site};
use std::path::Path;

fn load(text: &str) -> Result<Site, Problems> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("site.conf");
    std::fs::write(&file, text).expect("written");
    Site::load(&file, &[])
}

fn problems(text: &str) -> Vec<String> {
    let problems = load(text)
        .err()
        .map(|problems| problems.problems)
        .unwrap_or_default();
    let told = problems
        .iter()
        .map(|one| format!("{}:{}: {}", one.line, one.column, one.message));
    told.collect()
}

#[test]
fn each_use_of_a_macro_reads_its_lines_with_new_values() {
    let site = load(
        "<Macro Site $name $folder>\n<VirtualHost *:80>\nServerName $name\nDocumentRoot $folder\n\
         Use Closed $folder/$namely\n</VirtualHost>\n</Macro>\n\
         <Macro Closed $namely>\n<Directory $namely>\nRequire all denied\n</Directory>\n</Macro>\n\
         Use Site one.example /srv/one\nuse site two.example /srv/two\n\
         UndefMacro Site\n<Macro Site>\nServerAdmin again@example.org\n</Macro>\nUse Site\n",
    )
    .expect("right");
    let names: Vec<_> = site
        .hosts
        .iter()
        .map(|host| host.names.server_name.as_deref())
        .collect();
    assert_eq!(names, [Some("one.example"), Some("two.example")]);
    assert_eq!(site.hosts[1].mapping.document_root, Path::new("/srv/two"));
    assert_eq!(site.main.server_admin.as_deref(), Some("again@example.org"));
    // `$namely` is a different word where `$name` is a parameter.
    let closed = site.hosts[0].settings("/", Some(Path::new("/srv/one/one.examplely/x")));
    assert!(closed.denied);
    assert!(
        !site.hosts[0]
            .settings("/", Some(Path::new("/srv/one/x")))
            .denied
    );
}

#[test]
fn a_problem_in_a_macro_is_reported_at_its_line_and_at_its_use() {
    for (text, expected) in [
        ("Use Nothing\n", "1:5: there is no macro `Nothing`"),
        (
            "<Macro Site a>\nListn a\n</Macro>\nUse Site 80\n",
            "2:1: there is no directive `Listn`",
        ),
        (
            "<Macro Site a>\nListn a\n</Macro>\nUse Site 80\n",
            "4:5: the problem in macro `Site` arises from its use here",
        ),
        (
            "<Macro Site a b>\n</Macro>\nUse Site 1\n",
            "3:5: expected values for a, b behind `Site`, not 1",
        ),
        (
            "<Macro Site>\nUse Site\n</Macro>\nUse Site\n",
            "2:5: macro `Site` uses itself",
        ),
        (
            "<Macro Site a a>\n</Macro>\n",
            "1:15: expected each parameter once",
        ),
        ("<Macro>\n", "1:1: expected `<Macro NAME"),
        (
            "Listen 80\n<Macro Site>\nListen 81\n",
            "2:1: <Macro> is not closed",
        ),
        (
            "<Macro Site>\n<Directory />\n</Macro>\nUse Site\n",
            "2:1: <Directory> is not closed",
        ),
        ("<Macro Site>\n</Macro>\nUse Sit\n", "did you mean `site`?"),
    ] {
        let told = problems(text);
        assert!(
            told.iter().any(|one| one.contains(expected)),
            "{text}: {told:?}"
        );
    }
    // An unused macro is not read.
    assert_eq!(
        problems("<Macro Site>\nNonsense\n</Macro>\n"),
        Vec::<String>::new()
    );
}
