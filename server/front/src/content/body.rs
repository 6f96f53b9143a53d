//! The body of a large or partial file: pieces of the file with text before each piece, sent one
//! window at a time.
//!
//! Data in the page cache are sent or copied at once. Other data are first read by a thread, so the
//! event loop never waits for a disk.

use super::resource::Resource;
use super::stretch::{self, STRETCH};
use super::Files;
use crate::content::page_cache::read_resident;
use mehari_http::range::RangePart;
use rustix::io::ReadWriteFlags;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::rc::Rc;
use std::sync::Arc;

/// The most bytes copied at a time.
pub const WINDOW: usize = 128 * 1024;
/// The bytes read from the disk at a time, and the bytes read ahead.
const PAGES: u64 = 512 * 1024;
/// Pieces shorter than this number of bytes are copied, so that one write can send several pieces.
const SHORT: u64 = 16 * 1024;
/// The distance in bytes between probes of the page cache.
const LOOK: usize = 128 * 1024;

#[derive(Debug)]
pub struct FileBody {
    file: Arc<File>,
    parts: VecDeque<RangePart>,
    files: Files,
    resource: Option<Rc<Resource>>,
    /// Whether the file is small and will be kept in memory when it has been read.
    fills: bool,
    disk: Disk,
    /// Whether the data must be copied, even if the socket could send them from the page cache.
    copied: bool,
}

/// What was requested from the disk. For data that were requested before, a probe of the page cache
/// is harmless. For other data the probe itself would make the event loop read a few pages from the
/// disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disk {
    /// The file lies in memory, not on a disk.
    Absent,
    /// Nothing was requested yet. The file may well be in memory.
    Unasked,
    /// Data before this position were requested. Data after this position are probably not in
    /// memory.
    Asked(u64),
}

impl FileBody {
    /// Makes a body of these parts. `resource`: the file's resource, if the resource is kept.
    pub fn new(
        file: Arc<File>,
        parts: Vec<RangePart>,
        resource: Option<Rc<Resource>>,
        files: &Files,
    ) -> FileBody {
        FileBody {
            file,
            parts: parts.into(),
            files: files.clone(),
            disk: match &resource {
                Some(resource) if resource.begins_cold() => Disk::Asked(0),
                _ => Disk::Unasked,
            },
            resource,
            fills: false,
            copied: false,
        }
    }

    /// Makes the body of a whole file that has no kept resource.
    pub fn whole(file: Arc<File>, length: u64, files: &Files) -> FileBody {
        FileBody::new(file, vec![RangePart::of(0, length)], None, files)
    }

    /// Makes the body of a whole file in memory.
    pub fn in_memory(file: Arc<File>, length: u64, files: &Files) -> FileBody {
        FileBody {
            disk: Disk::Absent,
            ..FileBody::whole(file, length, files)
        }
    }

    /// Makes the body of a whole file with a kept resource. Reading a small file fills the
    /// resource.
    pub fn of(file: Arc<File>, resource: Rc<Resource>, files: &Files) -> FileBody {
        FileBody {
            fills: resource.is_small(),
            ..FileBody::new(
                file,
                vec![RangePart::of(0, resource.size())],
                Some(resource),
                files,
            )
        }
    }

    pub fn copied(self, copied: bool) -> FileBody {
        FileBody { copied, ..self }
    }

    /// Returns the number of remaining bytes.
    pub fn length(&self) -> u64 {
        let lengths = self
            .parts
            .iter()
            .map(|part| part.text.len() as u64 + part.length);
        lengths.sum()
    }

    /// Returns the text before the first piece. It is empty unless there are several pieces.
    pub fn first_text(&self) -> &[u8] {
        self.parts.front().map_or(&[], |part| &part.text)
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Reads the next window of at most `most` bytes and appends it. A small file that will be kept
    /// is read completely. `Ok(false)`: everything has been read. A file that has become shorter is
    /// an error.
    pub async fn read(&mut self, into: &mut Vec<u8>, most: usize) -> io::Result<bool> {
        let Some(part) = self.parts.front_mut() else {
            return Ok(false);
        };
        into.append(&mut part.text);
        let (start, length) = (part.start, part.length);
        let most = if self.fills { WINDOW } else { most.min(WINDOW) };
        let wanted = length.min(most as u64) as usize;
        if wanted > 0 {
            let resident = if self.is_worth_a_look(start + wanted as u64) {
                read_resident(&self.file, start, wanted, into)?
            } else {
                None
            };
            let count = match resident {
                Some(count) => {
                    self.fill(start, &into[into.len() - count..]);
                    count
                }
                None => self.read_aside(start, wanted, into).await?,
            };
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.advance(count as u64);
        } else {
            self.advance(0);
        }
        Ok(!self.parts.is_empty())
    }

    /// Keeps the bytes of a small file in memory.
    fn fill(&self, start: u64, bytes: &[u8]) {
        if let Some(resource) = self.resource.as_ref().filter(|_| self.fills && start == 0) {
            resource.fill(bytes.to_vec());
        }
    }

    async fn read_aside(
        &mut self,
        start: u64,
        wanted: usize,
        into: &mut Vec<u8>,
    ) -> io::Result<usize> {
        let ahead = self.behind(start, PAGES);
        self.disk = Disk::Asked(ahead);
        let readers = &self.files.readers;
        let read = readers.read(&self.file, start, wanted, ahead);
        let window = read.await?;
        into.extend_from_slice(&window);
        let count = window.len();
        if let Some(resource) = self.resource.as_ref().filter(|_| self.fills) {
            resource.fill(window);
        }
        Ok(count)
    }

    /// Appends the text before the next piece. Returns whether the piece can be sent straight from
    /// the page cache, because it is long enough.
    pub fn is_long(&mut self, into: &mut Vec<u8>) -> bool {
        match self.parts.front_mut() {
            Some(part) if part.length >= SHORT && !self.fills && !self.copied => {
                into.append(&mut part.text);
                true
            }
            _ => false,
        }
    }

    /// Ensures that the next window is in the page cache. Returns the window's start and length.
    /// `None`: the current piece has ended.
    pub async fn resident_window(&mut self) -> io::Result<Option<(u64, usize)>> {
        let Some(part) = self.parts.front().filter(|part| part.text.is_empty()) else {
            return Ok(None);
        };
        let (start, length) = (part.start, part.length);
        if length == 0 {
            return Ok(None);
        }
        if self.disk == Disk::Absent {
            return Ok(Some((start, length.min(PAGES) as usize)));
        }
        if self.disk == Disk::Unasked {
            let stretch = length.min(stretch::end(start) - start);
            if self.has_stretch(start, stretch as usize) {
                return Ok(Some((start, stretch as usize)));
            }
        }
        let count = length.min(PAGES) as usize;
        let end = start + count as u64;
        let is_asked = self.disk != Disk::Unasked && self.is_worth_a_look(end);
        let is_there = is_asked && is_resident(&self.file, start, count);
        let ahead = self.behind(start, 2 * PAGES);
        let readers = &self.files.readers;
        if is_there {
            readers.ask(&self.file, end, ahead)
        } else {
            readers.read_ahead(&self.file, start, count, ahead).await?
        }
        self.disk = Disk::Asked(ahead);
        Ok(Some((start, count)))
    }

    /// Returns whether the page cache may hold data that end at this position, so that a probe is
    /// useful.
    fn is_worth_a_look(&self, end: u64) -> bool {
        match self.disk {
            Disk::Absent | Disk::Unasked => true,
            Disk::Asked(before) => end <= before,
        }
    }

    /// Returns whether all these bytes are in the page cache. Remembers a complete stretch.
    fn has_stretch(&self, start: u64, count: usize) -> bool {
        let sweep = self.files.sweep();
        let Some(resource) = &self.resource else {
            return is_resident(&self.file, start, count);
        };
        if resource.stretches.have(start, sweep) {
            return true;
        }
        let has = is_resident(&self.file, start, count);
        let end = start + count as u64;
        let is_all =
            start.is_multiple_of(STRETCH) && (end == start + STRETCH || end == resource.size());
        if has && is_all {
            resource.stretches.note(start, sweep);
        }
        has
    }

    /// Returns the position at which read-ahead ends, so that nothing after the current piece is
    /// read.
    fn behind(&self, start: u64, bytes: u64) -> u64 {
        let end = self
            .parts
            .front()
            .map_or(start, |part| part.start + part.length);
        end.min(start + bytes)
    }

    /// Notes that `count` bytes of the current part were taken.
    pub fn advance(&mut self, count: u64) {
        if let Some(part) = self.parts.front_mut() {
            part.start += count;
            part.length -= count;
            if part.length == 0 {
                self.parts.pop_front();
            }
        }
    }
}

/// Probes the page cache at both ends of a window and between them. Returns whether every probe
/// found its page.
fn is_resident(file: &File, start: u64, count: usize) -> bool {
    let last = start + count as u64 - 1;
    let looks = (start..last).step_by(LOOK).chain([last]);
    looks.into_iter().all(|at| {
        let mut byte = [0];
        let mut slices = [IoSliceMut::new(&mut byte)];
        rustix::io::preadv2(file, &mut slices, at, ReadWriteFlags::NOWAIT).is_ok()
    })
}

#[cfg(test)]
mod tests;
