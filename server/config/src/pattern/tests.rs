use super::*;
use proptest::prelude::*;

#[test]
fn patterns_match_as_pcre_does() {
    for (pattern, text, expected) in [
        ("^/a(.*)$", "/abc", true),
        ("(?!x)y", "y", true),
        ("^(?!.*\\.php$)", "/a.php", false),
        ("^(a)\\1$", "aa", true),
        ("^/{x}$", "/{x}", true),
        ("^(?=.)/{x}$", "/{x}", true),
        ("^(?=.){,2}$", "{,2}", true),
        ("a{2}", "aa", true),
        ("^[^/]+$", "\u{e9}", true),
        ("^[\u{e9}]$", "\u{e9}", false),
        ("^..$", "\u{e9}", true),
        ("^a.b$", "a\nb", true),
        ("^(?=a)a$", "a\n", false),
        ("^(?m)a$", "a\nb", true),
        ("^(?x) a # [\n$", "a\n", false),
        ("^\\Qa$\\E$", "a$", true),
        ("(?J)(?<a>b)|(?<a>c)", "c", true),
    ] {
        let compiled = Pattern::new(pattern).expect(pattern);
        assert_eq!(compiled.matches(text.as_bytes()), expected, "{pattern}");
    }
    assert!(Pattern::caseless("ABC").expect("right").matches(b"abc"));
}

#[test]
fn wrong_patterns_have_the_message_of_pcre() {
    for (pattern, expected) in [
        ("(", "missing closing parenthesis"),
        ("a**b", "quantifier does not follow a repeatable item"),
        ("a)", "unmatched closing parenthesis"),
        ("[a", "missing terminating ] for character class"),
        ("[z-a]", "range out of order in character class"),
        ("[\\d-z]", "invalid range in character class"),
        ("[..]", "POSIX collating elements are not supported"),
    ] {
        let fault = Pattern::new(pattern).err();
        assert_eq!(fault.as_deref().unwrap_or_default(), expected, "{pattern}");
    }
}

#[test]
fn what_means_the_same_in_both_engines_runs_in_linear_time() {
    for (pattern, is_linear) in [
        ("^/a(.*)\\.(?:png|jpe?g)$", true),
        ("(?i)^[^a-z\\d[:punct:]]{2,}?$", true),
        ("\\<\\>\\h\\N\\Qa.b\\E\\x{41}(?#comment)", true),
        ("[a&&+--c~~[d]", true),
        ("(?<name>a)(?P<other>b)", true),
        ("(?=a)", false),
        ("(a)\\1", false),
        ("a++", false),
        ("(?>a)", false),
        ("(a*)*", false),
        ("(|a)+", false),
        ("\\R", false),
        ("\\101", false),
        ("(?x) a", false),
        ("(?|a|b)", false),
        ("[[:^lower:]]", false),
    ] {
        assert_eq!(
            syntax::translated(pattern).linear.is_some(),
            is_linear,
            "{pattern}"
        );
    }
}

#[test]
fn a_match_that_takes_too_long_is_none() {
    let slow = Pattern::new("^(?=(a+)+$)b").expect("right");
    assert!(!slow.matches("a".repeat(64).as_bytes()));
}

#[test]
fn groups_are_counted_from_the_whole_match() {
    for pattern in ["/(\\w+)/(x)?", "(?=/)/(\\w+)/(x)?"] {
        let pattern = Pattern::new(pattern).expect("right");
        let groups = pattern.groups(b"at /one/ ").expect("a match");
        assert_eq!(groups.get(b"at /one/ ", 1), Some(&b"one"[..]));
        assert_eq!(groups.get(b"at /one/ ", 2), None);
        assert_eq!(groups.whole(), 3..8);
    }
}

#[test]
fn groups_with_the_same_name_are_named() {
    let pattern = Pattern::new("^(?:(?<n>a)|(?<n>b))").expect("right");
    assert_eq!(
        pattern.named_groups(b"b"),
        [("n".to_string(), b"b".to_vec())]
    );
}

/// Parts of patterns. Some mean something else in the linear engine's own syntax.
const PARTS: &[&str] = &[
    "a",
    "b",
    "B",
    "-",
    "&",
    "&&",
    "~~",
    "--",
    "[",
    "]",
    "[^",
    "(",
    ")",
    "(?:",
    "(?i)",
    "(?i:",
    "(?s)",
    "(?-s:",
    "(?<n>",
    "|",
    "*",
    "+",
    "?",
    "{",
    "}",
    "{2}",
    "{1,}",
    "{,2}",
    "{0,1}",
    "^",
    "$",
    ".",
    "\\",
    "\\<",
    "\\>",
    "\\b",
    "\\B",
    "\\w",
    "\\W",
    "\\d",
    "\\s",
    "\\S",
    "\\h",
    "\\H",
    "\\v",
    "\\N",
    "\\n",
    "\\A",
    "\\z",
    "\\x41",
    "\\x{e9}",
    "\\Q",
    "\\E",
    "[:alpha:]",
    "[[:^digit:]]",
    "[[:upper:]]",
    "\u{e9}",
    "(?#a)",
    "#",
    " ",
    "<",
    ">",
    ",",
    "1",
    ":",
    "\\]",
    "\\-",
    "\\[",
    "\\e",
    "a-b",
    "\\a",
    "[b-",
];

/// Parts of texts.
const TEXTS: &[&[u8]] = &[
    b"a",
    b"b",
    b"A",
    b"B",
    b"-",
    b"&",
    b"~",
    b"[",
    b"]",
    b"{2}",
    b"{,2}",
    b"<",
    b">",
    b"\n",
    b" ",
    b"\t",
    b"\\",
    b"\xe9",
    b"\xc3\xa9",
    b"\xa0",
    b"\x0b",
    b"1",
    b":",
    b"#",
    b"^",
    b"$",
    b"|",
    b"(",
    b"\x1b",
    b",",
];

fn joined<T: Clone + std::fmt::Debug + 'static>(
    parts: &'static [&'static [T]],
) -> impl Strategy<Value = Vec<T>> {
    let parts = proptest::collection::vec(proptest::sample::select(parts), 0..9);
    parts.prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn the_engines_agree(
        parts in proptest::collection::vec(proptest::sample::select(PARTS), 0..9),
        texts in proptest::collection::vec(joined(TEXTS), 1..5),
        caseless: bool,
    ) {
        let text = parts.concat();
        let translated = syntax::translated(&text);
        let linear = translated.linear.as_ref().and_then(|text| linear(text, caseless));
        if let Some(linear) = linear {
            let pcre = pcre(&translated.pcre, caseless);
            prop_assert!(pcre.is_ok(), "{text}: {pcre:?}");
            let engine = pcre.map(|regex| Engine::Pcre(Box::new(regex)));
            let right = Pattern { text: text.clone(), engine: engine.expect("checked") };
            let own = Pattern { text: text.clone(), engine: Engine::Linear(linear) };
            for subject in texts {
                prop_assert_eq!(own.groups(&subject), right.groups(&subject), "{} on {:?}", text, subject);
            }
        }
    }
}
