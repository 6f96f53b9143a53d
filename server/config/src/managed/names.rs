//! Checks the names of managed domains. The names become names of files and parts of requests to
//! the authority, so the syntax is strict.

/// Returns the name in lower case if an authority can certify it: labels of letters, digits and
/// hyphens with a dot between them (RFC 1123).
///
/// # Errors
///
/// A line that says what is wrong with the name.
pub fn host_name(text: &str) -> Result<String, String> {
    let expected = |why: &str| {
        Err(format!(
            "expected a host name such as www.example.org, not `{text}`{why}"
        ))
    };
    if text.starts_with("*.") {
        return expected(": a wildcard needs dns-01, which is not done; name each host");
    }
    if !text.is_ascii() {
        return expected(": other letters are written in the form xn--...");
    }
    let labels: Vec<&str> = text.split('.').collect();
    let is_label = |label: &&str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(fits)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_number = |label: &&str| label.bytes().all(|byte| byte.is_ascii_digit());
    if text.len() > 253 || !labels.iter().all(is_label) {
        return expected("");
    }
    if labels.len() < 2 {
        return expected(": public names have a dot");
    }
    if labels.last().is_some_and(is_number) {
        return expected(": an address cannot be a managed domain");
    }
    Ok(text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::host_name;

    #[test]
    fn host_names_are_taken_and_other_words_are_refused() {
        for name in [
            "example.org",
            "WWW.Example.ORG",
            "xn--bcher-kva.example",
            "a-1.b",
        ] {
            assert_eq!(host_name(name), Ok(name.to_ascii_lowercase()));
        }
        let long = format!("{}.org", "a".repeat(64));
        for wrong in [
            "",
            ".",
            "a.",
            ".org",
            "localhost",
            "*.example.org",
            "192.0.2.1",
            "[::1]",
            "a_b.org",
            "-a.org",
            "a-.org",
            "a/../b.org",
            "a b.org",
            "b\u{fc}cher.org",
            "a\n.org",
            &long,
        ] {
            assert!(host_name(wrong).is_err(), "{wrong:?}");
        }
    }
}
