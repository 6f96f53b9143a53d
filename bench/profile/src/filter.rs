//! Chooses the requests that a profile contains.

/// A part of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestFilter {
    /// This path and everything below it, as `<Location>` means it.
    Location(String),
    /// This path with any query, or with the query that it names.
    Url(String),
}

impl RequestFilter {
    /// Reads a path or a whole URL. The scheme and host of a URL are ignored.
    ///
    /// # Errors
    /// The text is neither a path nor a URL.
    pub fn url(text: &str) -> Result<RequestFilter, String> {
        path(text).map(RequestFilter::Url)
    }

    /// Reads the same texts as [`RequestFilter::url`].
    ///
    /// # Errors
    /// The text is neither a path nor a URL.
    pub fn location(text: &str) -> Result<RequestFilter, String> {
        path(text).map(RequestFilter::Location)
    }

    /// Returns whether the profile contains a request. `target`: the request's path and query.
    pub fn takes(&self, target: &str) -> bool {
        let path = target.split('?').next().unwrap_or(target);
        match self {
            RequestFilter::Url(asked) if asked.contains('?') => asked == target,
            RequestFilter::Url(asked) => asked == path,
            RequestFilter::Location(asked) => path.strip_prefix(&**asked).is_some_and(|rest| {
                asked.ends_with('/') || rest.is_empty() || rest.starts_with('/')
            }),
        }
    }
}

fn path(text: &str) -> Result<String, String> {
    let path = match text.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => text,
    };
    if path.starts_with('/') {
        Ok(path.to_owned())
    } else {
        Err("expected a path such as /shop, or a URL".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::RequestFilter;

    #[test]
    fn location_takes_what_is_below_it_and_a_url_only_itself() {
        let cases = [
            ("location", "/a", "/a", true),
            ("location", "/a", "/a/b?c", true),
            ("location", "/a", "/ab", false),
            ("location", "/a/", "/a/b", true),
            ("location", "/", "/b", true),
            ("url", "/a", "/a?x", true),
            ("url", "/a", "/a/b", false),
            ("url", "/a?x", "/a?x", true),
            ("url", "/a?x", "/a?y", false),
            ("url", "http://h:1/a", "/a", true),
            ("url", "http://h", "/", true),
        ];
        for (kind, asked, target, expected) in cases {
            let filter = match kind {
                "url" => RequestFilter::url(asked),
                _ => RequestFilter::location(asked),
            };
            let filter = filter.expect("a path");
            assert_eq!(filter.takes(target), expected, "{filter:?} {target}");
        }
        assert!(RequestFilter::url("a").is_err());
    }
}
