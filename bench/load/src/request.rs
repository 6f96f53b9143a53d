//! Renders requests before the run, so the driver only copies their bytes to the socket. The native
//! commands build requests with `Builder`. The compatible commands (`ab`, `httperf`, ...) supply
//! their own bytes.

use base64::prelude::{Engine, BASE64_STANDARD};

use crate::plan_error::PlanError;
use crate::url::{Endpoint, Url};

/// A request that can be sent any number of times.
#[derive(Clone, Debug)]
pub struct Request {
    pub endpoint: Endpoint,
    /// The HTTP/1 head without the blank line that ends it.
    pub head: Vec<u8>,
    pub body: Vec<u8>,
    /// Whether the response has no body whatever its head says, as after HEAD.
    pub bodiless_response: bool,
    /// The weight of this request when requests are chosen at random.
    pub weight: u32,
    /// The fields that an HTTP/2 connection sends instead of `head`.
    pub fields: Fields,
}

/// The request's fields for HTTP/2: names in lower case, without connection fields.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    pub method: String,
    pub path: String,
    pub authority: String,
    pub others: Vec<(String, String)>,
}

impl Request {
    /// Returns a plain GET request for a URL.
    ///
    /// # Errors
    ///
    /// [`PlanError`] if the text is not a URL.
    pub fn get(url: &str) -> Result<Request, PlanError> {
        Builder::default().build(&Url::parse(url)?)
    }

    /// Returns a request made of bytes that the caller has rendered. `head` holds the request line
    /// and the field lines, each with its CRLF, but not the empty line.
    pub fn raw(
        endpoint: Endpoint,
        head: Vec<u8>,
        body: Vec<u8>,
        bodiless_response: bool,
    ) -> Request {
        Request {
            endpoint,
            head,
            body,
            bodiless_response,
            weight: 1,
            fields: Fields::default(),
        }
    }

    /// Returns the path and query of the request line; `/` if the line has none.
    pub fn path(&self) -> String {
        let mut words = self.head.split(|byte| matches!(byte, b' ' | b'\r'));
        let path = words
            .nth(1)
            .map(String::from_utf8_lossy)
            .unwrap_or_default();
        if path.starts_with('/') {
            path.into_owned()
        } else {
            Url::parse(&path).map_or("/".into(), |url| url.path)
        }
    }

    /// Returns all bytes of the request for an HTTP/1 connection. `extra` holds further field
    /// lines, each with its CRLF.
    pub fn bytes(&self, extra: &[u8]) -> Vec<u8> {
        [&self.head, extra, b"\r\n", &self.body].concat()
    }
}

/// The properties that all requests of a native command share.
#[derive(Clone, Debug)]
pub struct Builder {
    pub method: String,
    pub fields: Vec<(String, String)>,
    pub cookies: Vec<String>,
    /// `user:password`
    pub basic: Option<String>,
    pub body: Vec<u8>,
    pub keep_alive: bool,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            method: "GET".into(),
            fields: Vec::new(),
            cookies: Vec::new(),
            basic: None,
            body: Vec::new(),
            keep_alive: true,
        }
    }
}

const TOKEN_MARKS: &[u8] = b"!#$%&'*+-.^_`|~";

impl Builder {
    /// Makes the request for a URL.
    ///
    /// # Errors
    ///
    /// [`PlanError`] if the method or a header field is invalid.
    pub fn build(&self, url: &Url) -> Result<Request, PlanError> {
        if !is_token(&self.method) {
            return Err(PlanError::new(format!(
                "`{}` is not a request method",
                self.method
            )));
        }
        let mut fields = vec![("Host".to_string(), url.endpoint.authority())];
        fields.push((
            "User-Agent".into(),
            concat!("mehari-bench/", env!("CARGO_PKG_VERSION")).into(),
        ));
        fields.push(("Accept".into(), "*/*".into()));
        if let Some(pair) = &self.basic {
            fields.push((
                "Authorization".into(),
                format!("Basic {}", BASE64_STANDARD.encode(pair)),
            ));
        }
        if !self.cookies.is_empty() {
            fields.push(("Cookie".into(), self.cookies.join("; ")));
        }
        if !self.body.is_empty() || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH") {
            fields.push(("Content-Length".into(), self.body.len().to_string()));
        }
        for (name, value) in &self.fields {
            check_field(name, value)?;
            fields.retain(|(known, _)| !replaces(name, known));
            fields.push((name.clone(), value.clone()));
        }
        if !self.keep_alive {
            fields.push(("Connection".into(), "close".into()));
        }
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, url.path);
        for (name, value) in &fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        Ok(Request {
            endpoint: url.endpoint.clone(),
            head: head.into_bytes(),
            body: self.body.clone(),
            bodiless_response: self.method == "HEAD",
            weight: 1,
            fields: self.for_http2(url, &fields),
        })
    }

    fn for_http2(&self, url: &Url, fields: &[(String, String)]) -> Fields {
        let connection_fields = [
            "connection",
            "keep-alive",
            "host",
            "transfer-encoding",
            "upgrade",
        ];
        let mut authority = url.endpoint.authority();
        let mut others = Vec::new();
        for (name, value) in fields {
            let name = name.to_ascii_lowercase();
            match name.as_str() {
                "host" => authority.clone_from(value),
                name if connection_fields.contains(&name) => {}
                _ => others.push((name, value.clone())),
            }
        }
        Fields {
            method: self.method.clone(),
            path: url.path.clone(),
            authority,
            others,
        }
    }
}

/// Returns whether the user's field `name` replaces the generated field `known`.
fn replaces(name: &str, known: &str) -> bool {
    [
        "host",
        "user-agent",
        "accept",
        "authorization",
        "content-length",
    ]
    .iter()
    .any(|own| name.eq_ignore_ascii_case(own) && known.eq_ignore_ascii_case(own))
}

fn check_field(name: &str, value: &str) -> Result<(), PlanError> {
    if !is_token(name) {
        return Err(PlanError::new(format!(
            "`{name}` is not the name of a header field"
        )));
    }
    if value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        return Err(PlanError::new(format!(
            "the value of the field `{name}` holds a line end"
        )));
    }
    Ok(())
}

fn is_token(word: &str) -> bool {
    !word.is_empty()
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || TOKEN_MARKS.contains(&byte))
}
