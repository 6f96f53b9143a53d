//! Renders ab's request, with ab's header fields in ab's order.

use super::options::Options;
use super::target::Target;
use crate::console::Refusal;

/// The size of ab's buffer for a request's head.
const MAX_HEAD: usize = 8192;

/// The request of a run, head and body. All requests of a run are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub head: Vec<u8>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn render(options: &Options) -> Result<Request, Refusal> {
        let mut head = Vec::with_capacity(256);
        let target = match options.proxy {
            Some(_) => &options.target.url,
            None => &options.target.path,
        };
        head.extend([&options.method, b" ".as_slice(), target, b" HTTP/1.0\r\n"].concat());
        if options.keep_alive {
            head.extend(b"Connection: Keep-Alive\r\n");
        }
        head.extend(&options.cookie);
        head.extend(&options.credentials);
        if let Some(body) = &options.body {
            head.extend(format!("Content-length: {}\r\n", body.len()).into_bytes());
            let kind = options.content_type.as_deref().unwrap_or(b"text/plain");
            head.extend([b"Content-type: ", kind, b"\r\n"].concat());
        }
        head.extend(&options.headers);
        head.extend(defaults(options, &options.target).into_bytes());
        head.extend(b"\r\n");
        if head.len() >= MAX_HEAD {
            return Err(Refusal::to_stderr(1, "Request too long\n\n"));
        }
        Ok(Request {
            head,
            body: options.body.clone().unwrap_or_default(),
        })
    }

    /// Returns the text that `-v 2` prints before the first request.
    pub fn shown(&self, method: &[u8]) -> Vec<u8> {
        let opening = [b"INFO: ", method, b" header == \n---\n"].concat();
        [&opening, &self.head, b"\n---\n".as_slice()].concat()
    }
}

/// Returns the header fields that ab adds, unless a `-H` line replaces them.
fn defaults(options: &Options, target: &Target) -> String {
    let mut lines = String::new();
    if options.host_override.is_none() {
        lines.push_str(&format!("Host: {}\r\n", target.host_header()));
    }
    if !options.agent_overridden {
        lines.push_str("User-Agent: ApacheBench/2.3\r\n");
    }
    if !options.accept_overridden {
        lines.push_str("Accept: */*\r\n");
    }
    lines
}
