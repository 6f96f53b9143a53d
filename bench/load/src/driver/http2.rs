//! Implements the client's side of one HTTP/2 connection (RFC 9113): streams, flow control,
//! settings.
//!
//! The worker passes the bytes of the socket to `feed` and sends the bytes in `out`. The header
//! blocks of requests are rendered before the run. The client's settings forbid the server to use a
//! dynamic table, so responses are decoded without state.
//!
//! A library such as `h2` needs an async runtime, encodes each request anew, and hides the times of
//! single frames. This client therefore has its own codec.

mod frame;
pub mod hpack;
mod huffman;
mod incoming;

use frame::{FrameType, Header, FLAG_END_HEADERS, FLAG_END_STREAM};

use super::link::Flight;
use crate::moment::Moment;
use crate::response::Facts;
use hpack::Block;

/// A stream and the request under way on it.
pub struct Stream {
    pub id: u32,
    pub flight: Flight,
    pub facts: Facts,
    /// The part of the request body that flow control does not yet allow to send.
    unsent: Vec<u8>,
    window: i64,
}

pub struct Http2 {
    pub streams: Vec<Stream>,
    out: Vec<u8>,
    out_sent: usize,
    frame: Option<Header>,
    /// An incomplete frame header, or the payload of an incomplete frame.
    carry: Vec<u8>,
    data: Data,
    /// A header block whose CONTINUATION frame has not come yet.
    block: Option<(u32, bool, Vec<u8>)>,
    next_id: u32,
    most_streams: usize,
    window: i64,
    initial_window: i64,
    frame_size: usize,
    /// Bytes received since the last WINDOW_UPDATE of the connection.
    uncredited: usize,
    table: Table,
    /// The arrival time of the bytes that `feed` is reading.
    pub came: Moment,
    /// Whether the connection takes no further stream.
    pub closing: bool,
}

/// The state of the server's dynamic table, into which the client writes common fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    Empty,
    Filled,
    /// The server has just forbidden the table. The next block must acknowledge this.
    Withdrawn,
    None,
}

/// Progress within a DATA frame.
#[derive(Default)]
struct Data {
    content: usize,
    padding: usize,
    padded: bool,
}

/// The bytes violate the protocol, or the server has ended the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

/// A stream that has ended.
pub enum EndedStream {
    Answered(Stream),
    Reset(Stream),
    /// The server did not begin the request, so the client may send the request again (RFC 9113
    /// section 8.7).
    Refused(Stream),
}

/// Receives the parts of responses as they arrive.
pub trait Listener {
    fn head(&mut self, stream: &Stream, block: &[u8]);
    fn body(&mut self, stream: &Stream, piece: &[u8]);
}

/// The client's flow-control window, the largest possible. The plan decides how fast the client
/// reads; flow control never slows the server.
const OUR_WINDOW: u32 = i32::MAX as u32;
const DEFAULT_WINDOW: i64 = 65_535;
const CREDIT_AFTER: usize = 1 << 29;
const LARGEST_FRAME: usize = 16_384;
const LARGEST_BLOCK: usize = 256 * 1024;

impl Http2 {
    /// Returns a new connection. Its `out` holds the preface and the settings.
    pub fn new() -> Http2 {
        let mut out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        let settings = [(1, 0), (2, 0), (4, OUR_WINDOW)];
        frame::settings(&mut out, &settings);
        frame::window_update(&mut out, 0, OUR_WINDOW - DEFAULT_WINDOW as u32);
        Http2 {
            streams: Vec::new(),
            out,
            out_sent: 0,
            frame: None,
            carry: Vec::new(),
            data: Data::default(),
            block: None,
            next_id: 1,
            most_streams: 100,
            window: DEFAULT_WINDOW,
            initial_window: DEFAULT_WINDOW,
            frame_size: LARGEST_FRAME,
            uncredited: 0,
            table: Table::Empty,
            came: Moment::ZERO,
            closing: false,
        }
    }

    /// Returns whether the connection may carry another stream besides its open streams and the
    /// `queued` requests.
    pub fn has_room(&self, queued: usize, wanted: usize) -> bool {
        !self.closing && self.streams.len() + queued < wanted.min(self.most_streams)
    }

    /// Returns whether the server allows another stream now.
    pub fn may_start(&self) -> bool {
        !self.closing && self.streams.len() < self.most_streams
    }

    /// Opens a stream. Returns the number of bytes that this puts on the wire.
    pub fn start(&mut self, flight: Flight, block: &Block, body: &[u8]) -> u64 {
        let before = self.out.len();
        let id = self.next_id;
        self.next_id += 2;
        // Stream identifiers end at 2^31. The worker then opens another connection.
        self.closing |= self.next_id > i32::MAX as u32 - 2;
        let flags = FLAG_END_HEADERS | if body.is_empty() { FLAG_END_STREAM } else { 0 };
        let (prefix, block) = self.choose(block);
        let cookies = flight.own_bytes.as_deref().unwrap_or_default();
        let length = prefix.len() + block.len() + cookies.len();
        frame::header(&mut self.out, length, FrameType::HEADERS, flags, id);
        for part in [prefix, block, cookies] {
            self.out.extend_from_slice(part);
        }
        self.streams.push(Stream {
            id,
            flight,
            facts: Facts::default(),
            unsent: body.to_vec(),
            window: self.initial_window,
        });
        if !body.is_empty() {
            self.send_bodies();
        }
        (self.out.len() - before) as u64
    }

    /// Returns the bytes that must precede a block, and the form of the block that fits the state
    /// of the server's table.
    fn choose<'b>(&mut self, block: &'b Block) -> (&'static [u8], &'b [u8]) {
        match self.table {
            Table::Empty => {
                self.table = Table::Filled;
                (b"", &block.first)
            }
            Table::Filled => (b"", &block.later),
            Table::Withdrawn => {
                self.table = Table::None;
                // RFC 7541 section 4.2: the next block acknowledges the change of size.
                (b"\x20", &block.plain)
            }
            Table::None => (b"", &block.plain),
        }
    }

    /// Moves as much of the request bodies into `out` as the windows allow.
    fn send_bodies(&mut self) {
        for stream in self
            .streams
            .iter_mut()
            .filter(|stream| !stream.unsent.is_empty())
        {
            while !stream.unsent.is_empty() && self.window > 0 && stream.window > 0 {
                let most = self.window.min(stream.window) as usize;
                let length = stream.unsent.len().min(most).min(self.frame_size);
                let rest = stream.unsent.split_off(length);
                let flags = if rest.is_empty() { FLAG_END_STREAM } else { 0 };
                frame::header(&mut self.out, length, FrameType::DATA, flags, stream.id);
                self.out.extend_from_slice(&stream.unsent);
                stream.unsent = rest;
                self.window -= length as i64;
                stream.window -= length as i64;
            }
        }
    }

    /// Returns the bytes that wait to be sent.
    pub fn unsent(&self) -> &[u8] {
        &self.out[self.out_sent..]
    }

    pub fn was_sent(&mut self, count: usize) {
        self.out_sent += count;
        if self.out_sent == self.out.len() {
            self.out.clear();
            self.out_sent = 0;
        }
    }

    /// Cancels a stream. Later frames of the stream are ignored.
    pub fn cancel(&mut self, place: usize) -> Stream {
        let stream = self.streams.remove(place);
        frame::reset(&mut self.out, stream.id, frame::CANCEL);
        stream
    }
}

#[cfg(test)]
mod tests;
