//! Keeps the cookies of one visit, as RFC 6265 describes (Domain, Path, Expires, Max-Age, Secure).

use cookie_store::CookieStore;
use url::Url;

use crate::request::Request;

#[derive(Debug, Default)]
pub struct Jar(CookieStore);

impl Jar {
    /// Stores the cookies that `head`, the response head for `url`, sets.
    pub fn take(&mut self, url: &Url, head: &[u8]) {
        for line in head.split(|byte| *byte == b'\n') {
            let Some(colon) = memchr::memchr(b':', line) else {
                continue;
            };
            if line[..colon].eq_ignore_ascii_case(b"set-cookie") {
                let text = String::from_utf8_lossy(line[colon + 1..].trim_ascii());
                // Malformed cookies and cookies of foreign domains are ignored, as in browsers.
                let _ = self.0.parse(&text, url);
            }
        }
    }

    /// Returns the value of the `Cookie` field for a request to `url`; `None` without a matching
    /// cookie.
    pub fn value_for(&self, url: &Url) -> Option<String> {
        let mut cookies: Vec<_> = self
            .0
            .matches(url)
            .into_iter()
            .map(|cookie| {
                (
                    AsRef::<str>::as_ref(&cookie.path),
                    cookie.name(),
                    cookie.value(),
                )
            })
            .collect();
        // Longer paths come first (RFC 6265 section 5.4). Cookies of equally long paths are sorted
        // by name, so all runs send the same bytes.
        cookies.sort_by_key(|(path, name, _)| (std::cmp::Reverse(path.len()), *name));
        let sent: Vec<String> = cookies
            .iter()
            .map(|(_, name, value)| format!("{name}={value}"))
            .collect();
        (!sent.is_empty()).then(|| sent.join("; "))
    }
}

/// Returns the URL by which a request's cookies are chosen. Its host is the `Host` field, which may
/// differ from the server that receives the request.
pub fn url_of(request: &Request) -> Option<Url> {
    let scheme = if request.endpoint.tls {
        "https"
    } else {
        "http"
    };
    let named = host_field(&request.head).unwrap_or_else(|| request.endpoint.authority());
    let of =
        |authority: &str| Url::parse(&format!("{scheme}://{authority}{}", request.path())).ok();
    of(&named).or_else(|| of(&request.endpoint.authority()))
}

fn host_field(head: &[u8]) -> Option<String> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        line[..colon]
            .eq_ignore_ascii_case(b"host")
            .then(|| String::from_utf8_lossy(line[colon + 1..].trim_ascii()).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a good URL")
    }

    fn jar(sets: &[(&str, &str)]) -> Jar {
        let mut jar = Jar::default();
        for (from, value) in sets {
            let head = format!("HTTP/1.1 200 OK\r\nset-cookie: {value}\r\n\r\n");
            jar.take(&url(from), head.as_bytes());
        }
        jar
    }

    #[test]
    fn cookies_are_sent_to_their_host_and_path_only() {
        let jar = jar(&[
            ("http://127.0.0.1/", "id=7; Path=/; HttpOnly"),
            ("http://127.0.0.1/", "cart=a=b; path=/shop"),
            ("http://127.0.0.1/deep/page", "here=1"),
            ("http://127.0.0.2/", "id=8"),
        ]);
        for (to, sent) in [
            ("http://127.0.0.1/shop/1?x", "cart=a=b; id=7"),
            ("http://127.0.0.1/shopping", "id=7"),
            ("http://127.0.0.1/deep/other", "here=1; id=7"),
            ("http://127.0.0.2/", "id=8"),
        ] {
            assert_eq!(jar.value_for(&url(to)).as_deref(), Some(sent), "{to}");
        }
        assert_eq!(jar.value_for(&url("http://127.0.0.3/")), None);
    }

    #[test]
    fn cookies_expire_by_age_and_date_and_are_replaced() {
        let from = "http://127.0.0.1/";
        let sent = |sets: &[&str]| {
            let sets: Vec<_> = sets.iter().map(|set| (from, *set)).collect();
            jar(&sets).value_for(&url(from))
        };
        assert_eq!(sent(&["id=7", "id=9"]).as_deref(), Some("id=9"));
        assert_eq!(sent(&["id=7", "id=; Max-Age=0"]), None);
        let past = "id=; Expires=Thu, 01 Jan 1970 00:00:00 GMT";
        assert_eq!(sent(&["id=7", past]), None);
        assert_eq!(sent(&["id=7; Max-Age=3600"]).as_deref(), Some("id=7"));
        assert_eq!(sent(&["id"]), None);
    }

    #[test]
    fn a_domain_cookie_goes_to_all_hosts_of_its_domain_and_foreign_hosts_cannot_set_it() {
        let jar = jar(&[
            ("http://www.shop.test/", "all=1; Domain=shop.test"),
            ("http://www.shop.test/", "own=2"),
            ("http://www.shop.test/", "foreign=3; Domain=bank.test"),
            ("https://www.shop.test/", "safe=4; Secure"),
        ]);
        for (to, sent) in [
            ("http://www.shop.test/", Some("all=1; own=2")),
            ("https://www.shop.test/", Some("all=1; own=2; safe=4")),
            ("http://img.shop.test/", Some("all=1")),
            ("http://bank.test/", None),
        ] {
            assert_eq!(jar.value_for(&url(to)).as_deref(), sent, "{to}");
        }
    }

    #[test]
    fn the_host_field_chooses_the_cookies_of_a_request() {
        let request = Request::get("http://127.0.0.1:8080/a?b").expect("a good URL");
        let known = url_of(&request).expect("a URL");
        assert_eq!(known.as_str(), "http://127.0.0.1:8080/a?b");
        let named = Request::raw(
            request.endpoint,
            b"GET /a HTTP/1.1\r\nHost: shop.test\r\n".to_vec(),
            Vec::new(),
            false,
        );
        assert_eq!(
            url_of(&named).expect("a URL").as_str(),
            "http://shop.test/a"
        );
    }
}
