//! A request as a script sees it, and what it makes of it.
//!
//! The front fills a visit, the run lends it to the script's functions, and the front reads from it what changed.

use crate::attribute::{Attribute, COUNT, NAMES};
use crate::fields::Fields;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// When a script is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stage {
    /// Before the URL is mapped to anything.
    #[default]
    RawUrl,
    /// Once it is known which file the URL stands for.
    PhysicalPath,
    /// Once there is a response, before its head is sent.
    ResponseStart,
}

/// What a script wants known of the world.
pub trait World {
    /// What `stat` says of a path, as far as it is known lately; `None`: there is nothing.
    fn stat(&self, path: &Path) -> Option<Status>;
}

/// A request as its server has it, for as long as it is looked at: a script is told what it asks for.
pub trait Source {
    fn attribute(&self, attribute: Attribute) -> Option<Cow<'_, [u8]>>;
    /// The request's fields, each by name and value.
    fn fields(&self, tell: &mut dyn FnMut(&[u8], &[u8]));
    /// Variables that programs would be told.
    fn variables(&self, tell: &mut dyn FnMut(&[u8], &[u8]));
    /// The request's body, empty if it has none; `None`: it is not at hand.
    fn body(&self) -> Option<&[u8]>;
}

/// What is said of a file.
#[derive(Debug, Clone)]
pub struct Status {
    /// Kind and permissions, as `st_mode` has them.
    pub mode: u32,
    pub size: u64,
    /// Seconds since the epoch.
    pub modified: i64,
    pub changed: i64,
    pub accessed: i64,
    pub user: u32,
    pub group: u32,
    pub inode: u64,
    /// Quoted, as the header field has it.
    pub etag: String,
    /// Empty: unknown.
    pub media_type: String,
}

impl Status {
    /// `etag` and `media_type`: as the server at hand has them.
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

/// A piece of a body that a script made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// A part of a file; without `end` all behind `start`.
    File {
        path: Vec<u8>,
        start: u64,
        end: Option<u64>,
    },
}

/// Most bodies are of one.
pub type Pieces = SmallVec<[Piece; 1]>;

#[derive(Debug, Default)]
pub struct Visit {
    pub stage: Stage,
    texts: Vec<u8>,
    /// Where each is: start and end, plus one, so that 0 is nowhere.
    spans: [(u32, u32); COUNT],
    changed: u32,
    /// Attributes it has been told, or that there are none; and whether fields and variables were.
    told: u32,
    knows_fields: bool,
    knows_body: bool,
    pub request: Fields,
    /// What programs are told in their environment, beside what the request says itself.
    pub environment: Fields,
    /// Of the response: what there is already, and what is to be said in any case.
    pub response: Fields,
    /// The response's, once there is one.
    pub status: u16,
    /// What the script wants sent instead of anything else.
    pub body: Option<Pieces>,
    request_body: Option<Vec<u8>>,
    /// What it printed: lines of the error log.
    pub printed: Vec<Vec<u8>>,
    /// Bytes that may still be added to it.
    pub(crate) room: usize,
    /// Requests on this connection before this one.
    pub request_count: u64,
    /// When the request came.
    pub began: Option<SystemTime>,
}

impl Visit {
    pub fn new(stage: Stage) -> Visit {
        Visit {
            stage,
            ..Visit::default()
        }
    }

    /// As new, with the memory it has.
    pub fn reset(&mut self, stage: Stage) {
        self.stage = stage;
        self.texts.clear();
        self.spans = [(0, 0); COUNT];
        (self.changed, self.told) = (0, 0);
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

    /// Says what the request has.
    pub fn tell(&mut self, attribute: Attribute, text: &[u8]) {
        let start = self.texts.len();
        self.texts.extend_from_slice(text);
        let place = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        self.spans[attribute as usize] = (place(start), place(self.texts.len()));
        self.told |= 1 << attribute as u32;
    }

    /// Has a source tell one attribute, unless that is known.
    pub(crate) fn learn(&mut self, attribute: Attribute, source: Option<&dyn Source>) {
        if self.told & (1 << attribute as u32) != 0 {
            return;
        }
        self.told |= 1 << attribute as u32;
        if let Some(text) = source.and_then(|source| source.attribute(attribute)) {
            self.tell(attribute, &text);
        }
    }

    /// The same for all attributes.
    pub(crate) fn learn_attributes(&mut self, source: Option<&dyn Source>) {
        for (_, attribute, _) in NAMES {
            self.learn(*attribute, source);
        }
    }

    /// The same for fields and variables.
    pub(crate) fn learn_fields(&mut self, source: Option<&dyn Source>) {
        if std::mem::replace(&mut self.knows_fields, true) {
            return;
        }
        if let Some(source) = source {
            source.fields(&mut |name, value| self.request.push(name, value));
            source.variables(&mut |name, value| self.environment.push(name, value));
        }
    }

    /// Says what the request's body is.
    pub fn tell_body(&mut self, body: Vec<u8>) {
        self.knows_body = true;
        self.request_body = Some(body);
    }

    /// The same for the request's body.
    pub(crate) fn learn_body(&mut self, source: Option<&dyn Source>) {
        if std::mem::replace(&mut self.knows_body, true) {
            return;
        }
        self.request_body = source.and_then(Source::body).map(<[u8]>::to_vec);
    }

    /// The request's body, if it is at hand.
    pub fn request_body(&self) -> Option<&[u8]> {
        self.request_body.as_deref()
    }

    /// What a script sets.
    pub fn change(&mut self, attribute: Attribute, text: &[u8]) {
        self.tell(attribute, text);
        self.changed |= 1 << attribute as u32;
    }

    /// What a script has set an attribute to; `None`: it has not.
    pub fn changed(&self, attribute: Attribute) -> Option<&[u8]> {
        match self.changed & (1 << attribute as u32) {
            0 => None,
            _ => self.attribute(attribute),
        }
    }

    /// Counts bytes that the script makes the visit hold. False: there is no room for them.
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
