//! A request as a script sees it, and what it makes of it.
//!
//! The front fills a visit, the run lends it to the script's functions, and the front reads from it what changed.

use crate::attribute::{Attribute, COUNT, NAMES};
use crate::fields::Fields;
use std::borrow::Cow;
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
    pub request: Fields,
    /// What programs are told in their environment, beside what the request says itself.
    pub environment: Fields,
    /// Of the response: what there is already, and what is to be said in any case.
    pub response: Fields,
    /// The response's, once there is one.
    pub status: u16,
    /// What the script wants sent instead of anything else.
    pub body: Option<Vec<Piece>>,
    /// The request's body, where it is there.
    pub request_body: Option<Vec<u8>>,
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
        (self.changed, self.told, self.knows_fields) = (0, 0, false);
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
