//! A response that needs no program: made by handlers, sent by `codec::h1` and `codec::h2`.

use crate::content::body::FileBody;
use crate::content::resource::Resource;
use bytes::Bytes;
use std::rc::Rc;

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Header lines, each `Name: value\r\n`; never Date, Server, Content-Length or Connection.
    pub lines: Vec<u8>,
    pub content: Content,
}

#[derive(Debug)]
pub enum Content {
    Bytes(Vec<u8>),
    /// A whole small file; its header lines come before `Answer::lines`.
    Cached(Rc<Resource>),
    /// Bytes that others send too.
    Shared(Bytes),
    /// In a box, as all the others are small and an answer is handed on many times.
    File(Box<FileBody>),
}

impl Content {
    /// Bytes of the body.
    pub fn length(&self) -> u64 {
        match self {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Cached(resource) => resource.body().len() as u64,
            Content::Shared(bytes) => bytes.len() as u64,
            Content::File(body) => body.length(),
        }
    }

    pub fn empty() -> Content {
        Content::Bytes(Vec::new())
    }
}

impl Answer {
    /// The lines of the answer's header, in two parts.
    pub fn lines(&self) -> [&[u8]; 2] {
        match &self.content {
            Content::Cached(resource) => [resource.lines(), &self.lines],
            _ => [&self.lines, &[]],
        }
    }

    /// The same content under another head.
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
