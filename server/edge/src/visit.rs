//! A request as a script sees it, and what it makes of it.
//!
//! The front fills a visit, the run lends it to the script's functions, and the front reads from it what changed.

use crate::attribute::{Attribute, COUNT};
use crate::fields::Fields;
use std::path::Path;

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
    /// Seconds since the epoch.
    pub start_time: u64,
}

impl Visit {
    pub fn new(stage: Stage) -> Visit {
        Visit {
            stage,
            ..Visit::default()
        }
    }

    /// As new, with the room it has.
    pub fn reset(&mut self, stage: Stage) {
        let (mut texts, mut request) = (
            std::mem::take(&mut self.texts),
            std::mem::take(&mut self.request),
        );
        texts.clear();
        request.clear();
        *self = Visit {
            stage,
            texts,
            request,
            ..Visit::default()
        };
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
