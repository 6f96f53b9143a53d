//! Builds the request of a test.

/// A request: method, target, fields and body.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub fields: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    chunked: bool,
}

impl Request {
    pub fn new(method: &str, target: &str) -> Request {
        Request {
            method: method.to_owned(),
            target: target.to_owned(),
            fields: vec![("Host".to_owned(), "127.0.0.1".to_owned())],
            body: None,
            chunked: false,
        }
    }

    pub fn get(target: &str) -> Request {
        Request::new("GET", target)
    }

    pub fn post(target: &str, body: impl Into<Vec<u8>>) -> Request {
        Request::new("POST", target).body(body)
    }

    /// Makes a POST request with a form, as a browser sends it.
    pub fn form(target: &str, body: &str) -> Request {
        Request::post(target, body).field("Content-Type", "application/x-www-form-urlencoded")
    }

    pub fn field(mut self, name: &str, value: &str) -> Request {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the field Host, in place of the server's address.
    pub fn host(mut self, name: &str) -> Request {
        self.fields.retain(|(known, _)| known != "Host");
        self.field("Host", name)
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = Some(body.into());
        self
    }

    /// Sends the body in chunks of at most 1,000 bytes.
    pub fn chunked(mut self) -> Request {
        self.chunked = true;
        self
    }

    pub fn closing(self) -> Request {
        self.field("Connection", "close")
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.fields {
            out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        let body = self.body.as_deref();
        match body {
            Some(body) if self.chunked => {
                out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                for piece in body.chunks(1000) {
                    out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                    out.extend_from_slice(piece);
                    out.extend_from_slice(b"\r\n");
                }
                out.extend_from_slice(b"0\r\n\r\n");
            }
            Some(body) => {
                out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
                out.extend_from_slice(body);
            }
            None => out.extend_from_slice(b"\r\n"),
        }
        out
    }
}
