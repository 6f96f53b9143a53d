//! Tests that any file gives a site or problems with positions, without a panic or an endless loop.

use mehari_config::{Directive, Site, SECTIONS};
use proptest::prelude::*;

fn load(bytes: &[u8]) -> Result<Site, mehari_config::Problems> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("httpd.conf");
    std::fs::write(&file, bytes).expect("written");
    Site::load(&file, &[])
}

fn check(bytes: &[u8]) {
    match load(bytes) {
        Ok(site) => {
            for url in ["/", "/a/b.pl", "*", ""] {
                let mapped = site.main.mapping.map(url);
                let with_file = site.main.settings(url, Some(&mapped.file));
                assert!(std::sync::Arc::ptr_eq(
                    &with_file,
                    &site.main.settings(url, Some(&mapped.file))
                ));
                site.main.settings(url, None);
            }
        }
        Err(found) => {
            assert!(!found.problems.is_empty());
            for problem in &found.problems {
                assert!(
                    !problem.message.is_empty() && problem.line > 0 && problem.column > 0,
                    "{problem}"
                );
            }
        }
    }
}

/// Generates a line of words that the language knows, so that the parser reads more than the first
/// word.
fn line() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> = Directive::all()
        .filter(|row| !row.name.starts_with("Include"))
        .flat_map(|row| row.names())
        .collect();
    let sections: Vec<&'static str> = SECTIONS.iter().map(|kind| kind.name).collect();
    let name = prop::sample::select(names);
    let section = prop::sample::select(sections);
    let argument = "[-+!~\"'\\\\${}a-zA-Z0-9/.:*?\\[\\](),=< >|%é]{0,12}";
    let examples: Vec<&'static str> = Directive::all().map(|row| row.example).collect();
    let example = prop::sample::select(examples);
    prop_oneof![
        (name.clone(), argument).prop_map(|(name, argument)| format!("{name} {argument}")),
        (name, example).prop_map(|(name, example)| format!("{name} {example}")),
        (section.clone(), argument)
            .prop_map(|(section, argument)| format!("<{section} {argument}>")),
        section.prop_map(|section| format!("</{section}>")),
        argument.prop_map(|text| format!("{text}\\")),
        Just("<Perl>".to_string()),
        Just("=pod".to_string()),
        Just("Define A ${A}${A}${A}".to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_give_a_site_or_problems(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes);
    }

    #[test]
    fn any_mixture_of_known_words_gives_a_site_or_problems(lines in prop::collection::vec(line(), 0..30)) {
        check(lines.join("\n").as_bytes());
    }
}

#[test]
fn self_doubling_definitions_are_refused() {
    let mut text = String::from("Define A 0123456789\n");
    for _ in 0..64 {
        text.push_str("Define A ${A}${A}\n");
    }
    let found = load(text.as_bytes()).expect_err("too long");
    assert!(found.problems[0].message.contains("longer than"), "{found}");
}

#[test]
fn deep_nesting_and_very_long_lines_do_not_crash() {
    let deep = "<IfDefine !X>\n".repeat(50_000) + &"</IfDefine>\n".repeat(50_000);
    assert!(load(deep.as_bytes()).is_ok());
    let long = format!("PerlModule {}\n", "A::B ".repeat(20_000));
    assert!(load(long.as_bytes()).is_err());
}

#[test]
fn an_endless_device_is_refused() {
    let found = Site::load(std::path::Path::new("/dev/zero"), &[]).expect_err("no end");
    assert!(found.to_string().contains("is longer than"), "{found}");
}

#[test]
fn endless_nesting_is_reported() {
    let nested = |start: &str, inner: &str, end: &str, times: usize| {
        [&start.repeat(times), inner, &end.repeat(times)].concat()
    };
    let chain = |times: usize| {
        let condition = "true && ".repeat(99) + "true";
        let one = format!("<ElseIf \"{condition}\">\nOptions None\n</ElseIf>\n");
        format!("<If \"true\">\nOptions None\n</If>\n{}", one.repeat(times))
    };
    let calls = nested("tolower(", "'a'", ")", 1000);
    let maps = nested("${m:", "1", "}", 1000);
    for text in [
        nested(
            "<RequireAll>\n",
            "Require all granted\n",
            "</RequireAll>\n",
            200,
        ),
        "<RequireAny>\n".repeat(200),
        chain(12),
        format!("<If \"{calls} == 'a'\">\n</If>\n"),
        format!("Require expr \"{}true\"\n", "true && ".repeat(7000)),
        format!("Require expr \"{}true\"\n", "true || ".repeat(7000)),
        format!("RewriteRule ^a$ {maps}\n"),
    ] {
        let shown = &text[..40];
        let found = load(text.as_bytes()).expect_err(shown);
        let first = &found.problems[0];
        assert!(first.message.contains("expected"), "{shown}: {first}");
    }
    // Usual configurations are within the limits.
    for text in [
        nested("<IfModule !mod_none.c>\n", "", "</IfModule>\n", 30),
        chain(5),
        format!("Require expr \"{}true\"\n", "true && ".repeat(500)),
    ] {
        let site = load(text.as_bytes());
        assert!(
            site.is_ok(),
            "{:?}",
            site.err().map(|found| found.problems[0].to_string())
        );
    }
}
