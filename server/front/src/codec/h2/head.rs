//! Reads the head of a stream's request. The values of pseudo-fields are put where programs expect
//! them: `:authority` replaces Host.

use crate::request::{Fields, MapFields};
use http::header::{HeaderMap, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, EXPECT, HOST};
use http::request::Parts;
use mehari_config::ConnectionLimits;
use mehari_http::host;
use mehari_http::http1::framing;
use mehari_http::problem::{bad, Problem};

pub struct Head {
    parts: Parts,
    /// The value of Cookie, joined from several fields (RFC 9113 section 8.2.3).
    cookie: Option<Vec<u8>>,
}

impl Head {
    pub fn new(parts: Parts) -> Head {
        let cookie = joined_cookie(&parts.headers);
        Head { parts, cookie }
    }

    pub fn method(&self) -> &[u8] {
        self.parts.method.as_str().as_bytes()
    }

    /// Returns the path and query.
    pub fn target(&self) -> &[u8] {
        let target = self.parts.uri.path_and_query();
        target.map_or("/", |target| target.as_str()).as_bytes()
    }

    /// Returns the host: `:authority` if there is one, otherwise Host.
    pub fn host(&self) -> &[u8] {
        match self.parts.uri.authority() {
            Some(authority) => authority.as_str().as_bytes(),
            None => self.field(HOST),
        }
    }

    /// Returns the length of the body as announced by the client.
    pub fn length(&self) -> u64 {
        let length = self.parts.headers.get(CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        length.unwrap_or_default()
    }

    fn cookie(&self) -> &[u8] {
        match &self.cookie {
            Some(joined) => joined,
            None => self.field(COOKIE),
        }
    }

    /// Returns the value of a field. Empty: the field is missing.
    fn field(&self, name: http::HeaderName) -> &[u8] {
        let value = self.parts.headers.get(name);
        value.map_or(&[], |value| value.as_bytes())
    }

    pub fn fields(&self) -> Fields<'_> {
        Fields::Map(MapFields {
            host: self.host(),
            cookie: self.cookie(),
            map: &self.parts.headers,
        })
    }

    /// Refuses a repeated field that may stand only once. A Host that differs from `:authority`
    /// makes the request malformed (RFC 9113 section 8.3.1).
    fn check_single_fields(&self) -> Result<(), Problem> {
        let fields = &self.parts.headers;
        let mut hosts = fields.get_all(HOST).iter();
        let host = hosts.next().map(|host| host.as_bytes());
        if hosts.next().is_some() {
            return Err(bad("more than one Host"));
        }
        if host.is_some_and(|host| !host.eq_ignore_ascii_case(self.host())) {
            return Err(bad("Host and :authority differ"));
        }
        let mut state = framing::Notes::default();
        for (name, value) in fields {
            match *name {
                CONTENT_LENGTH => state.content_length(value.as_bytes())?,
                CONTENT_TYPE => state.content_type()?,
                AUTHORIZATION => state.authorization()?,
                EXPECT => state.expect(value.as_bytes())?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks the limits that HTTP/1 checks while it reads.
    pub fn check(&self, limits: &ConnectionLimits) -> Result<(), Problem> {
        if self.target().len() > limits.request_line {
            return Err(Problem::malformed(414, "the target is too long"));
        }
        let fields = &self.parts.headers;
        if fields.len() > limits.fields {
            return Err(Problem::malformed(431, "too many header fields"));
        }
        let too_long = |value: &[u8]| value.len() > limits.field_size;
        if too_long(self.cookie()) || fields.values().any(|value| too_long(value.as_bytes())) {
            return Err(Problem::malformed(431, "a header field is too long"));
        }
        self.check_single_fields()?;
        match self.host() {
            b"" => Err(bad("neither :authority nor Host")),
            host => host::check(host),
        }
    }
}

fn joined_cookie(fields: &HeaderMap) -> Option<Vec<u8>> {
    let mut crumbs = fields.get_all(COOKIE).iter();
    let (first, second) = (crumbs.next()?, crumbs.next()?);
    let mut joined = [first.as_bytes(), second.as_bytes()].join(&b"; "[..]);
    for crumb in crumbs {
        joined.extend_from_slice(b"; ");
        joined.extend_from_slice(crumb.as_bytes());
    }
    Some(joined)
}
