//! Takes bytes from a spool, first in, first out, while further bytes arrive.

use super::{Spool, BATCH};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

impl Spool {
    /// Returns the next bytes: at most `most` bytes from the file, or all bytes in memory. `None`:
    /// the spool is empty. Bytes in the page cache are copied at once. A thread reads other bytes.
    pub fn poll_take(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
    ) -> Poll<io::Result<Option<Vec<u8>>>> {
        if self.filed() == 0 {
            ready!(self.poll_written(cx));
        }
        if self.filed() > 0 {
            return self.poll_window(cx, most).map_ok(Some);
        }
        (self.written, self.taken) = (0, 0);
        let bytes = std::mem::take(&mut self.memory);
        Poll::Ready(Ok((!bytes.is_empty()).then_some(bytes)))
    }

    fn poll_window(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<io::Result<Vec<u8>>> {
        if self.reading.is_none() {
            if let Some(window) = self.read_now(most)? {
                self.take(window.len());
                return Poll::Ready(Ok(window));
            }
        }
        let Some(reading) = &mut self.reading else {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        };
        let read = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        let window = read.map_err(io::Error::other)??;
        self.take(window.len());
        Poll::Ready(Ok(window))
    }

    /// Notes that bytes were taken. If no bytes are left in the file, writing starts again at its
    /// beginning.
    fn take(&mut self, count: usize) {
        self.taken += count as u64;
        if self.filed() == 0 && self.writing.is_none() {
            (self.written, self.taken) = (0, 0);
        }
    }

    /// Reads a window from the page cache. `None`: a thread has been started that reads the window.
    fn read_now(&mut self, most: usize) -> io::Result<Option<Vec<u8>>> {
        let region = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let at = self.taken % self.ring;
        let most = most.min(BATCH) as u64;
        let count = self.filed().min(most).min(self.ring - at) as usize;
        let mut window = Vec::with_capacity(count);
        match region.read_resident(at, count, &mut window)? {
            Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(_) => Ok(Some(window)),
            None => {
                let region = region.clone();
                self.reading = Some(tokio::task::spawn_blocking(move || {
                    window.resize(count, 0);
                    region.read(&mut window, at)?;
                    Ok(window)
                }));
                Ok(None)
            }
        }
    }
}
