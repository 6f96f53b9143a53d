//! Sends a request to a back end: the head, then the body from memory or a file. The same request
//! can be sent again to another member.

use super::opening::Opening;
use crate::content::page_cache::read_resident;
use mehari_config::BackEnd;
use mehari_fastcgi as record;
use mehari_net::buffer_pool::Buffer;
use mehari_pool::Body;
use mehari_upstream::{Connection, Fault};
use std::fs::File;
use std::future::Future;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use tokio::io::AsyncWrite;
use tokio::task::JoinHandle;

/// The most bytes per read of a body's file. They fit into one FastCGI record.
const WINDOW: u64 = 0xfff8;

/// The framing of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// The body is sent unchanged.
    Plain,
    /// The body is sent in STDIN records. An empty record follows.
    Records,
}

pub struct Outgoing {
    opening: Option<Opening>,
    /// The head, and the body if the body is in memory.
    start: Buffer,
    /// The position in `start` at which the member's request begins.
    begin: usize,
    file: Option<SpooledBody>,
    /// A framed piece of the file.
    window: Vec<u8>,
    /// How many bytes of `start` and of `window` have been written to the connection.
    written: usize,
    window_written: usize,
    /// The file's end has been reached.
    ended: bool,
    /// The number of bytes sent to all members.
    sent: u64,
}

struct SpooledBody {
    file: Arc<File>,
    length: u64,
    at: u64,
    framing: Framing,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl Outgoing {
    pub fn http(opening: Opening, lines: Buffer, body: Body<'_>) -> Outgoing {
        let mut outgoing = Outgoing::plain(lines, body);
        outgoing.opening = Some(opening);
        outgoing
    }

    /// Makes a FastCGI request. `params`: all records that precede the records of the body.
    pub fn fastcgi(mut params: Buffer, body: Body<'_>) -> Outgoing {
        match body {
            Body::Empty => record::push_end(record::STDIN, &mut params),
            Body::Memory(bytes) => record::push_stream(record::STDIN, bytes, &mut params),
            Body::File(..) => {}
        }
        Outgoing::new(params, filed(body, Framing::Records))
    }

    /// Makes a request whose body is sent without framing. `head`: everything before the body.
    pub fn plain(mut head: Buffer, body: Body<'_>) -> Outgoing {
        if let Body::Memory(bytes) = body {
            head.extend_from_slice(bytes);
        }
        Outgoing::new(head, filed(body, Framing::Plain))
    }

    fn new(start: Buffer, file: Option<SpooledBody>) -> Outgoing {
        Outgoing {
            opening: None,
            start,
            begin: 0,
            ended: file.is_none(),
            file,
            window: Vec::new(),
            written: 0,
            window_written: 0,
            sent: 0,
        }
    }

    /// Returns the number of bytes sent to all members.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the method and the path, without the query and without a member's own path, of an
    /// HTTP request.
    pub fn asked(&self) -> Option<(&[u8], &[u8])> {
        let opening = self.opening.as_ref()?;
        Some(opening.asked(&self.start))
    }

    /// Prepares to send the whole request to this member.
    pub fn address(&mut self, member: &BackEnd) {
        if let Some(opening) = &mut self.opening {
            self.begin = opening.address(member, &mut self.start);
        }
        (self.written, self.window_written) = (self.begin, 0);
        self.window.clear();
        self.ended = self.file.is_none();
        if let Some(file) = &mut self.file {
            (file.at, file.reading) = (0, None);
        }
    }

    /// Returns whether nothing was sent to the current member.
    pub fn is_untouched(&self) -> bool {
        self.written == self.begin
    }

    pub fn is_sent(&self) -> bool {
        self.ended && self.written == self.start.len() && self.window_written == self.window.len()
    }

    /// Sends the request. Ready when everything has been sent.
    pub fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
    ) -> Poll<Result<(), Fault>> {
        while !self.is_sent() {
            let socket = Pin::new(&mut connection.socket);
            if self.written < self.start.len() {
                let rest = &self.start[self.written..];
                let count = broken(ready!(socket.poll_write(cx, rest)))?;
                self.written += count;
                self.sent += count as u64;
            } else if self.window_written < self.window.len() {
                let rest = &self.window[self.window_written..];
                let count = broken(ready!(socket.poll_write(cx, rest)))?;
                self.window_written += count;
                self.sent += count as u64;
            } else {
                let next = ready!(self.poll_window(cx));
                next.map_err(|error| Fault::Body(error.kind()))?;
            }
        }
        let flushed = ready!(Pin::new(&mut connection.socket).poll_flush(cx));
        flushed.map_err(|error| Fault::Broken(error.kind()))?;
        Poll::Ready(Ok(()))
    }

    /// Reads and frames the next piece of the file.
    fn poll_window(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(file) = &mut self.file else {
            self.ended = true;
            return Poll::Ready(Ok(()));
        };
        self.window.clear();
        self.window_written = 0;
        if file.at == file.length {
            self.ended = true;
            if file.framing == Framing::Records {
                record::push_end(record::STDIN, &mut self.window);
            }
            return Poll::Ready(Ok(()));
        }
        let bytes = ready!(file.poll_read(cx))?;
        match file.framing {
            Framing::Plain => self.window = bytes,
            Framing::Records => record::push(record::STDIN, &bytes, &mut self.window),
        }
        Poll::Ready(Ok(()))
    }
}

fn filed(body: Body<'_>, framing: Framing) -> Option<SpooledBody> {
    let Body::File(file, length) = body else {
        return None;
    };
    Some(SpooledBody {
        file: Arc::new(File::from(file)),
        length,
        at: 0,
        framing,
        reading: None,
    })
}

impl SpooledBody {
    /// Reads the next piece from the page cache, which usually holds it. A thread reads other data.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        let count = (self.length - self.at).min(WINDOW) as usize;
        if self.reading.is_none() {
            let mut bytes = Vec::new();
            match read_resident(&self.file, self.at, count, &mut bytes)? {
                Some(0) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Some(read) => {
                    self.at += read as u64;
                    return Poll::Ready(Ok(bytes));
                }
                None => {
                    let (file, at) = (self.file.clone(), self.at);
                    self.reading = Some(tokio::task::spawn_blocking(move || {
                        let mut bytes = vec![0; count];
                        file.read_exact_at(&mut bytes, at)?;
                        Ok(bytes)
                    }));
                }
            }
        }
        let Some(reading) = &mut self.reading else {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        };
        let read = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        let bytes = read.map_err(io::Error::other)??;
        self.at += bytes.len() as u64;
        Poll::Ready(Ok(bytes))
    }
}

fn broken(written: io::Result<usize>) -> Result<usize, Fault> {
    match written {
        Ok(0) => Err(Fault::Broken(io::ErrorKind::WriteZero)),
        Ok(count) => Ok(count),
        Err(error) => Err(Fault::Broken(error.kind())),
    }
}
