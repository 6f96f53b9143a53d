//! A response that needs no program. Handlers make an answer, and `codec::h1` or `codec::h2` sends
//! it.

use crate::content::body::FileBody;
use crate::content::resource::Resource;
use bytes::Bytes;
use mehari_http::range;
use std::rc::Rc;

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// The header lines, each as `Name: value\r\n`. The codec adds Date, Server, Content-Length and
    /// Connection.
    pub lines: Vec<u8>,
    pub content: Content,
}

#[derive(Debug)]
pub enum Content {
    Bytes(Vec<u8>),
    /// A whole small file. The file's header lines precede `Answer::lines`.
    Cached(Rc<Resource>),
    /// Bytes that several responses may share, or a page made from a file.
    Shared(Bytes),
    /// A large or partial file. The box keeps `Content` small, because answers are moved often.
    File(Box<FileBody>),
}

impl Content {
    /// Returns the length of the body in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Cached(resource) => resource.body().len() as u64,
            Content::Shared(bytes) => bytes.len() as u64,
            Content::File(body) => body.length(),
        }
    }

    /// Returns the bytes of a body in memory that neither a cache nor another response holds.
    pub fn into_own_bytes(self) -> Result<Vec<u8>, Content> {
        match self {
            Content::Bytes(bytes) => Ok(bytes),
            Content::Shared(bytes) if bytes.is_unique() => Ok(bytes.into()),
            content => Err(content),
        }
    }

    pub fn empty() -> Content {
        Content::Bytes(Vec::new())
    }
}

impl Answer {
    /// Returns the header lines of the answer, in two parts.
    pub fn lines(&self) -> [&[u8]; 2] {
        match &self.content {
            Content::Cached(resource) => [resource.lines(), &self.lines],
            _ => [&self.lines, &[]],
        }
    }

    /// Returns whether the server has made this page, for an error or a redirect. A file does not
    /// count, even if it is the document of an error.
    pub fn is_of_server(&self) -> bool {
        let is_made = matches!(self.content, Content::Bytes(_));
        is_made && self.status >= 300 && self.status != 304
    }

    /// Returns the media type of the whole representation if the answer has several ranges of it.
    /// Empty: the representation has no media type.
    pub fn type_of_parts(&self) -> Option<&[u8]> {
        let first = match &self.content {
            Content::File(body) => body.first_text(),
            Content::Bytes(bytes) if self.status == 206 => bytes,
            _ => &[],
        };
        (!first.is_empty()).then(|| range::type_of_parts(first))
    }

    /// Returns whether the server redirects the client.
    pub fn is_redirect(&self) -> bool {
        self.is_of_server() && self.status < 400
    }

    /// Returns the same content with another head.
    pub fn with_head(self, status: u16, lines: Vec<u8>) -> Answer {
        Answer {
            status,
            lines,
            content: match self.content {
                Content::Cached(resource) => Content::Bytes(resource.body().to_vec()),
                content => content,
            },
        }
    }

    pub fn new(status: u16, lines: impl Into<Vec<u8>>) -> Answer {
        Answer {
            status,
            lines: lines.into(),
            content: Content::empty(),
        }
    }
}
