//! The cookie jar of one run of a session: RFC 6265 as far as a load needs it.
//!
//! Cookies go back to the host that set them, under their path, until Max-Age=0 or an empty life ends
//! them. Domain and Expires are not followed: a session is minutes long and knows its hosts.

#[derive(Debug, Default)]
pub struct Jar {
    cookies: Vec<Cookie>,
}

#[derive(Debug)]
struct Cookie {
    endpoint: usize,
    path: String,
    name: String,
    value: String,
}

impl Jar {
    /// Takes the `Set-Cookie` fields of a response head.
    pub fn take(&mut self, endpoint: usize, bytes: &[u8]) {
        for line in bytes.split(|byte| *byte == b'\n') {
            let Some(colon) = memchr::memchr(b':', line) else {
                continue;
            };
            if line[..colon].eq_ignore_ascii_case(b"set-cookie") {
                self.set(
                    endpoint,
                    &String::from_utf8_lossy(line[colon + 1..].trim_ascii()),
                );
            }
        }
    }

    /// Takes one `Set-Cookie` value.
    pub fn set(&mut self, endpoint: usize, text: &str) {
        let mut parts = text.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
            return;
        };
        let (name, value) = (name.trim(), value.trim());
        let mut path = "/";
        let mut ended = false;
        for attribute in parts {
            let (key, setting) = attribute.split_once('=').unwrap_or((attribute, ""));
            if key.eq_ignore_ascii_case("path") && setting.starts_with('/') {
                path = setting;
            } else if key.eq_ignore_ascii_case("max-age") {
                ended |= setting.parse::<i64>().is_ok_and(|seconds| seconds <= 0);
            }
        }
        self.cookies.retain(|cookie| {
            cookie.endpoint != endpoint || cookie.name != name || cookie.path != path
        });
        if !ended && !name.is_empty() {
            let (path, name, value) = (path.to_string(), name.to_string(), value.to_string());
            self.cookies.push(Cookie {
                endpoint,
                path,
                name,
                value,
            });
        }
    }

    /// The value of a `Cookie` field for a request to `path`; `None` when no cookie is to be sent.
    pub fn value_for(&self, endpoint: usize, path: &str) -> Option<String> {
        let sent: Vec<String> = self
            .cookies
            .iter()
            .filter(|cookie| cookie.endpoint == endpoint && is_under(path, &cookie.path))
            .map(|cookie| format!("{}={}", cookie.name, cookie.value))
            .collect();
        (!sent.is_empty()).then(|| sent.join("; "))
    }
}

/// RFC 6265 section 5.1.4.
fn is_under(path: &str, prefix: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_go_back_to_their_host_and_path_until_they_end() {
        let mut jar = Jar::default();
        jar.set(0, "id=7; Path=/; HttpOnly");
        jar.set(0, "cart=a=b; path=/shop");
        jar.set(1, "id=8");
        assert_eq!(
            jar.value_for(0, "/shop/1?x").as_deref(),
            Some("id=7; cart=a=b")
        );
        assert_eq!(jar.value_for(0, "/shopping").as_deref(), Some("id=7"));
        assert_eq!(jar.value_for(1, "/").as_deref(), Some("id=8"));
        jar.set(0, "id=9");
        assert_eq!(jar.value_for(0, "/").as_deref(), Some("id=9"));
        jar.set(0, "id=; Max-Age=0");
        assert_eq!(jar.value_for(0, "/"), None);
    }
}
