//! Tests of clients' names. [`super::Visitor::is_named`] evaluates them.

/// A test of a client's name by `Require` or `Allow`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameTest {
    /// The client's name equals one of these names, or ends with one of these domains. The name
    /// must resolve to the client's address.
    Host(Vec<String>),
    /// The client's address is among the addresses of these names.
    ForwardDns(Vec<String>),
}

impl NameTest {
    /// Tells whether the test covers this name: `example.org` covers `www.example.org`, but not
    /// `myexample.org`.
    pub fn is_about(&self, name: &str) -> bool {
        let ends_with = |domain: &String| {
            let Some(start) = name.len().checked_sub(domain.len()) else {
                return false;
            };
            let (before, end) = name.as_bytes().split_at(start);
            let is_whole = before.is_empty() || domain.starts_with('.') || before.ends_with(b".");
            is_whole && end.eq_ignore_ascii_case(domain.as_bytes())
        };
        match self {
            NameTest::Host(domains) => domains.iter().any(ends_with),
            NameTest::ForwardDns(_) => false,
        }
    }
}

/// `HostnameLookups`: whether every client's name is looked up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NameLookups {
    #[default]
    Off,
    On,
    /// The client's address is looked up, and the name found must resolve to the client's address.
    Double,
}

#[cfg(test)]
mod tests {
    use super::NameTest;

    #[test]
    fn a_domain_matches_whole_labels_only() {
        for (domain, name, expected) in [
            ("example.org", "example.org", true),
            ("example.org", "www.Example.ORG", true),
            (".example.org", "www.example.org", true),
            (".example.org", "example.org", false),
            ("example.org", "myexample.org", false),
            ("www.example.org", "example.org", false),
            ("org", "example.org", true),
        ] {
            let test = NameTest::Host(vec![domain.to_string()]);
            assert_eq!(test.is_about(name), expected, "{domain} {name}");
        }
    }
}
