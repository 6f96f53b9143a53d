//! Holds a request as a script sees it, with the script's changes.
//!
//! The front fills a visit. The run lends the visit to the script's functions. The front then reads
//! the changes from the visit.

use crate::attribute::{Attribute, COUNT, NAMES};
use crate::fields::Fields;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// The point in the life of a request at which a script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stage {
    /// Before the URL is mapped to a file.
    #[default]
    RawUrl,
    /// After the URL is mapped to a file.
    PhysicalPath,
    /// After the response is made and before its head is sent.
    ResponseStart,
}

/// The functions of the server that scripts may use besides the request.
pub trait World {
    /// Returns the status of a path, which may be a little old. Returns `None` if the path does not
    /// exist.
    fn stat(&self, path: &Path) -> Option<Status>;
}

/// A request in the server's own form. A visit asks the source only for what a script uses.
pub trait Source {
    fn attribute(&self, attribute: Attribute) -> Option<Cow<'_, [u8]>>;
    /// Calls `tell` with the name and value of each header field of the request.
    fn fields(&self, tell: &mut dyn FnMut(&[u8], &[u8]));
    /// Calls `tell` with the name and value of each variable for programs.
    fn variables(&self, tell: &mut dyn FnMut(&[u8], &[u8]));
    /// Returns the request's body, which is empty if the request has none. Returns `None` if the
    /// front has not read the body.
    fn body(&self) -> Option<&[u8]>;
}

/// The status of a file.
#[derive(Debug, Clone)]
pub struct Status {
    /// The kind and the permissions, as in `st_mode`.
    pub mode: u32,
    pub size: u64,
    /// The modification time in seconds since the epoch.
    pub modified: i64,
    pub changed: i64,
    pub accessed: i64,
    pub user: u32,
    pub group: u32,
    pub inode: u64,
    /// The entity tag with its quotes.
    pub etag: String,
    /// The media type. Empty if the type is not known.
    pub media_type: String,
}

impl Status {
    /// Makes a status. `etag` and `media_type` are the server's values.
    pub fn of(metadata: &Metadata, etag: String, media_type: String) -> Status {
        Status {
            mode: metadata.mode(),
            size: metadata.size(),
            modified: metadata.mtime(),
            changed: metadata.ctime(),
            accessed: metadata.atime(),
            user: metadata.uid(),
            group: metadata.gid(),
            inode: metadata.ino(),
            etag,
            media_type,
        }
    }
}

/// A piece of a body that a script makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// A part of a file. Without `end` the piece reaches to the end of the file.
    File {
        path: Vec<u8>,
        start: u64,
        end: Option<u64>,
    },
}

/// The pieces of a body. Most bodies have one piece.
pub type Pieces = SmallVec<[Piece; 1]>;

#[derive(Debug, Clone, Default)]
pub struct Visit {
    pub stage: Stage,
    texts: Vec<u8>,
    /// The start and end of each attribute's text. Both are stored plus one, and 0 means no text.
    spans: [(u32, u32); COUNT],
    changed: u32,
    /// A bit for each attribute that is known or was asked for. The next two flags do the same for
    /// fields and body.
    learned: u32,
    knows_fields: bool,
    knows_body: bool,
    pub request: Fields,
    /// Environment variables for programs, in addition to the CGI variables of the request.
    pub environment: Fields,
    /// The response fields: those of the existing response, and those that the script sets.
    pub response: Fields,
    /// The status of the response at [`Stage::ResponseStart`].
    pub status: u16,
    /// The body that the script wants sent instead of any other response.
    pub body: Option<Pieces>,
    request_body: Option<Vec<u8>>,
    /// The script's printed lines, for the error log.
    pub printed: Vec<Vec<u8>>,
    /// The number of bytes that the script may still add to the visit.
    pub(crate) room: usize,
    /// The number of earlier requests on this connection.
    pub request_count: u64,
    /// When the request arrived.
    pub began: Option<SystemTime>,
}

impl Visit {
    pub fn new(stage: Stage) -> Visit {
        Visit {
            stage,
            ..Visit::default()
        }
    }

    /// Prepares the visit for another request and keeps its memory.
    pub fn reset(&mut self, stage: Stage) {
        self.stage = stage;
        self.texts.clear();
        self.spans = [(0, 0); COUNT];
        (self.changed, self.learned) = (0, 0);
        (self.knows_fields, self.knows_body) = (false, false);
        for fields in [&mut self.request, &mut self.environment, &mut self.response] {
            fields.clear();
        }
        (self.body, self.request_body) = (None, None);
        self.printed.clear();
        (self.status, self.room, self.request_count) = (0, 0, 0);
        self.began = None;
    }

    pub fn attribute(&self, attribute: Attribute) -> Option<&[u8]> {
        let (start, end) = self.spans[attribute as usize];
        self.texts
            .get(start.checked_sub(1)? as usize..end as usize - 1)
    }

    /// Sets an attribute of the request.
    pub fn set_attribute(&mut self, attribute: Attribute, text: &[u8]) {
        let start = self.texts.len();
        self.texts.extend_from_slice(text);
        let place = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        self.spans[attribute as usize] = (place(start), place(self.texts.len()));
        self.learned |= 1 << attribute as u32;
    }

    /// Asks the source for one attribute, unless the attribute is known.
    pub(crate) fn learn(&mut self, attribute: Attribute, source: Option<&dyn Source>) {
        if self.learned & (1 << attribute as u32) != 0 {
            return;
        }
        self.learned |= 1 << attribute as u32;
        if let Some(text) = source.and_then(|source| source.attribute(attribute)) {
            self.set_attribute(attribute, &text);
        }
    }

    /// Asks the source for all attributes that are not known.
    pub(crate) fn learn_attributes(&mut self, source: Option<&dyn Source>) {
        for (_, attribute, _) in NAMES {
            self.learn(*attribute, source);
        }
    }

    /// Asks the source for fields and variables, unless they are known.
    pub(crate) fn learn_fields(&mut self, source: Option<&dyn Source>) {
        if std::mem::replace(&mut self.knows_fields, true) {
            return;
        }
        if let Some(source) = source {
            source.fields(&mut |name, value| self.request.push(name, value));
            source.variables(&mut |name, value| self.environment.push(name, value));
        }
    }

    /// Sets the request's body.
    pub fn tell_body(&mut self, body: Vec<u8>) {
        self.knows_body = true;
        self.request_body = Some(body);
    }

    /// Asks the source for the request's body, unless the body is known.
    pub(crate) fn learn_body(&mut self, source: Option<&dyn Source>) {
        if std::mem::replace(&mut self.knows_body, true) {
            return;
        }
        self.request_body = source.and_then(Source::body).map(<[u8]>::to_vec);
    }

    /// Returns the request's body, if the front has read it.
    pub fn request_body(&self) -> Option<&[u8]> {
        self.request_body.as_deref()
    }

    /// Sets an attribute on behalf of the script.
    pub fn change(&mut self, attribute: Attribute, text: &[u8]) {
        self.set_attribute(attribute, text);
        self.changed |= 1 << attribute as u32;
    }

    /// Returns the value that a script has set, or `None` if the script has not set the attribute.
    pub fn changed(&self, attribute: Attribute) -> Option<&[u8]> {
        match self.changed & (1 << attribute as u32) {
            0 => None,
            _ => self.attribute(attribute),
        }
    }

    /// Subtracts bytes that the script adds from the visit's room. Returns false if the visit has
    /// no room for the bytes.
    pub(crate) fn holds(&mut self, bytes: usize) -> bool {
        match self.room.checked_sub(bytes) {
            Some(rest) => {
                self.room = rest;
                true
            }
            None => false,
        }
    }
}
