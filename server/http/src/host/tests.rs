//! Compares the check of names and addresses with their definition.

use super::name;
use std::net::Ipv4Addr;

fn is_name(host: &[u8]) -> bool {
    name(host) == Some(host.len())
}

/// Defines a name label by label, for comparison with `name`.
fn is_name_by_definition(name: &[u8]) -> bool {
    let name = name.strip_suffix(b".").unwrap_or(name);
    let labels: Vec<&[u8]> = name.split(|byte| *byte == b'.').collect();
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let is_label = |label: &&[u8]| {
        label.iter().all(fits)
            && label.first().is_some_and(|byte| *byte != b'-')
            && label.last().is_some_and(|byte| *byte != b'-')
    };
    let last = labels[labels.len() - 1];
    if !labels.iter().all(is_label) {
        return false;
    }
    if last.iter().all(u8::is_ascii_digit) {
        let text = std::str::from_utf8(name).unwrap_or_default();
        return text.parse::<Ipv4Addr>().is_ok();
    }
    labels.len() == 1 || !last[0].is_ascii_digit()
}

#[test]
fn name_agrees_with_its_definition_for_all_short_texts() {
    // Miri takes hours for the longer names.
    let longest = if cfg!(miri) { 3 } else { 6 };
    let alphabet = b"a_-.10:\xff";
    let mut names: Vec<Vec<u8>> = vec![Vec::new()];
    let mut checked = 0;
    for _ in 0..longest {
        let longer = names.iter().flat_map(|name| {
            alphabet.iter().map(move |byte| {
                let mut name = name.clone();
                name.push(*byte);
                name
            })
        });
        names = longer.collect();
        for name in &names {
            assert_eq!(is_name(name), is_name_by_definition(name), "{name:?}");
        }
        checked += names.len();
    }
    let expected: usize = (1..=longest).map(|length| 8_usize.pow(length)).sum();
    assert_eq!(checked, expected);
}

#[test]
fn name_agrees_with_its_definition_for_addresses_and_names() {
    for name in [
        "127.0.0.1",
        "1.2.3.4.",
        "255.255.255.255",
        "256.1.1.1",
        "1.2.3",
        "1.2.3.4.5",
        "01.2.3.4",
        "0.0.0.0",
        "1.2.3.400",
        "1.2.3.1000",
        "a.2.3.4",
        "1.2.3.a",
        "1.2.3.4a",
        "localhost",
        "www.example.org",
        "example.org.",
        "xn--bcher-kva.example",
        "a_b.example",
        "-a",
        "a-",
        "a..b",
        ".",
        "..",
        "1",
        "1000",
        "a.1b",
    ] {
        let name = name.as_bytes();
        assert_eq!(is_name(name), is_name_by_definition(name), "{name:?}");
    }
}
