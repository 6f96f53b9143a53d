//! The body of a large or partial file: pieces of it, with text between them, read in windows.
//!
//! What the page cache holds is read at once; what it does not is read by a thread of the blocking
//! pool, so a cold disk never stops the loop.

use rustix::io::{Errno, ReadWriteFlags};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Read at a time.
pub const WINDOW: usize = 128 * 1024;
/// Sent at a time straight from the page cache.
const PAGES: usize = 512 * 1024;
/// A shorter piece is copied: it may share a write with what comes before and after.
const SHORT: u64 = 64 * 1024;
/// Distance of the looks that tell whether a window is in the page cache.
const LOOK: usize = 128 * 1024;

/// Text (of a multipart boundary) and the piece of the file after it.
#[derive(Debug)]
pub struct Part {
    pub text: Vec<u8>,
    pub start: u64,
    pub length: u64,
}

#[derive(Debug)]
pub struct FileBody {
    file: Arc<File>,
    parts: VecDeque<Part>,
    window: Option<Vec<u8>>,
}

impl FileBody {
    pub fn new(file: File, parts: Vec<Part>) -> FileBody {
        FileBody {
            file: Arc::new(file),
            parts: parts.into(),
            window: None,
        }
    }

    pub fn whole(file: File, length: u64) -> FileBody {
        let part = Part {
            text: Vec::new(),
            start: 0,
            length,
        };
        FileBody::new(file, vec![part])
    }

    /// Bytes still to come.
    pub fn length(&self) -> u64 {
        let lengths = self
            .parts
            .iter()
            .map(|part| part.text.len() as u64 + part.length);
        lengths.sum()
    }

    /// Appends the next window. `Ok(false)`: everything has been read. An error also when the file
    /// has become shorter than it was.
    pub async fn read(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        let Some(part) = self.parts.front_mut() else {
            return Ok(false);
        };
        into.append(&mut part.text);
        let wanted = part.length.min(WINDOW as u64) as usize;
        if wanted > 0 {
            let start = part.start;
            let count = match read_resident(&self.file, start, wanted, into)? {
                Some(count) => count,
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

    pub fn file(&self) -> &File {
        &self.file
    }

    /// A piece to be sent straight from the page cache, which holds it now: start and length.
    /// `None`: what comes next is short, or has text before it.
    pub async fn resident_window(&mut self) -> io::Result<Option<(u64, usize)>> {
        let Some(part) = self.parts.front() else {
            return Ok(None);
        };
        if !part.text.is_empty() || part.length < SHORT {
            return Ok(None);
        }
        let (start, count) = (part.start, part.length.min(PAGES as u64) as usize);
        if !is_resident(&self.file, start, count) {
            let file = self.file.clone();
            let read = tokio::task::spawn_blocking(move || read_ahead(&file, start, count));
            read.await.map_err(io::Error::other)??;
        }
        Ok(Some((start, count)))
    }

    /// Notes that `count` bytes of the current part have been taken.
    pub fn advance(&mut self, count: u64) {
        if let Some(part) = self.parts.front_mut() {
            part.start += count;
            part.length -= count;
            if part.length == 0 {
                self.parts.pop_front();
            }
        }
    }

    async fn read_aside(
        &mut self,
        start: u64,
        wanted: usize,
        into: &mut Vec<u8>,
    ) -> io::Result<usize> {
        let file = self.file.clone();
        let mut window = self.window.take().unwrap_or_default();
        let read = tokio::task::spawn_blocking(move || {
            window.resize(wanted, 0);
            file.read_at(&mut window, start)
                .map(|count| (window, count))
        });
        let (window, count) = read.await.map_err(io::Error::other)??;
        into.extend_from_slice(&window[..count]);
        self.window = Some(window);
        Ok(count)
    }
}

/// Whether the page cache seems to hold a window: a look at its ends and between.
fn is_resident(file: &File, start: u64, count: usize) -> bool {
    let last = start + count as u64 - 1;
    let looks = (start..last).step_by(LOOK).chain([last]);
    looks.into_iter().all(|at| {
        let mut byte = [0];
        let mut slices = [IoSliceMut::new(&mut byte)];
        rustix::io::preadv2(file, &mut slices, at, ReadWriteFlags::NOWAIT).is_ok()
    })
}

/// Has the kernel read a window, in a thread that may wait for it.
fn read_ahead(file: &File, start: u64, count: usize) -> io::Result<()> {
    let mut thrown_away = [0; 16 * 1024];
    let end = start + count as u64;
    let mut at = start;
    while at < end {
        match file.read_at(&mut thrown_away, at)? {
            0 => break,
            read => at += read as u64,
        }
    }
    Ok(())
}

/// Reads what is in the page cache. `None`: nothing is, or the file system cannot tell.
pub fn read_resident(
    file: &File,
    start: u64,
    wanted: usize,
    into: &mut Vec<u8>,
) -> io::Result<Option<usize>> {
    let before = into.len();
    into.resize(before + wanted, 0);
    let mut slices = [IoSliceMut::new(&mut into[before..])];
    let result = rustix::io::preadv2(file, &mut slices, start, ReadWriteFlags::NOWAIT);
    into.truncate(before + *result.as_ref().unwrap_or(&0));
    match result {
        Ok(count) => Ok(Some(count)),
        Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
