//! A client's side of one HTTP/2 connection, RFC 9113: streams, flow control, settings.
//!
//! It is fed what the socket gives and leaves what to send in `out`. Requests are HPACK blocks rendered
//! beforehand; the server is told to use no dynamic table, so responses need no state to decode.

mod frame;
pub mod hpack;
mod huffman;

use frame::{
    Header, Kind, FLAG_ACK, FLAG_END_HEADERS, FLAG_END_STREAM, FLAG_PADDED, FLAG_PRIORITY,
};

use super::link::Flight;
use crate::moment::Moment;
use crate::response::Facts;
use hpack::Block;

/// What was under way on one stream.
pub struct Stream {
    pub id: u32,
    pub flight: Flight,
    pub facts: Facts,
    /// The part of the request body the windows have not let out yet.
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
    /// A header block whose CONTINUATION is still to come.
    block: Option<(u32, bool, Vec<u8>)>,
    next_id: u32,
    most_streams: usize,
    window: i64,
    initial_window: i64,
    frame_size: usize,
    /// Bytes received since the connection's window was last opened again.
    uncredited: usize,
    table: Table,
    /// When the bytes being fed were read.
    pub now: Moment,
    /// The server takes no further stream.
    pub closing: bool,
}

/// What the server's table holds of our fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    Empty,
    Filled,
    /// The server wants none, and is to be told that we know.
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

/// The bytes break the protocol, or the server gave the connection up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

/// A stream that is over.
pub enum Ended {
    Answered(Stream),
    Reset(Stream),
}

/// Sees the parts of responses as they pass.
pub trait Listener {
    fn head(&mut self, stream: &Stream, block: &[u8]);
    fn body(&mut self, stream: &Stream, piece: &[u8]);
}

/// The largest window there is: the plan decides how fast we read, not the protocol.
const OUR_WINDOW: u32 = i32::MAX as u32;
const DEFAULT_WINDOW: i64 = 65_535;
const CREDIT_AFTER: usize = 1 << 29;
const LARGEST_FRAME: usize = 16_384;
const LARGEST_BLOCK: usize = 256 * 1024;

impl Http2 {
    /// A connection whose preface and settings wait to be sent.
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
            now: Moment::ZERO,
            closing: false,
        }
    }

    /// Whether another stream may be opened beside those there are and `queued` more.
    pub fn has_room(&self, queued: usize, wanted: usize) -> bool {
        !self.closing && self.streams.len() + queued < wanted.min(self.most_streams)
    }

    /// Opens a stream; answers how many bytes that will put on the wire.
    pub fn start(&mut self, mut flight: Flight, block: &Block, body: &[u8]) -> u64 {
        let before = self.out.len();
        let id = self.next_id;
        self.next_id += 2;
        // Stream numbers end at 2^31: the connection is then given up and another opened.
        self.closing |= self.next_id > i32::MAX as u32 - 2;
        let flags = FLAG_END_HEADERS | if body.is_empty() { FLAG_END_STREAM } else { 0 };
        let (prefix, block) = self.choose(block);
        let cookies = flight.own_bytes.take().unwrap_or_default();
        let length = prefix.len() + block.len() + cookies.len();
        frame::header(&mut self.out, length, Kind::HEADERS, flags, id);
        for part in [prefix, block, &cookies] {
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

    /// The form of a block that fits what the server's table holds by now, and what must precede it.
    fn choose<'b>(&mut self, block: &'b Block) -> (&'static [u8], &'b [u8]) {
        match self.table {
            Table::Empty => {
                self.table = Table::Filled;
                (b"", &block.first)
            }
            Table::Filled => (b"", &block.later),
            Table::Withdrawn => {
                self.table = Table::None;
                // Section 4.2 of RFC 7541: the change of size is acknowledged in the next block.
                (b"\x20", &block.plain)
            }
            Table::None => (b"", &block.plain),
        }
    }

    /// Puts as much of the request bodies into `out` as the windows let.
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
                frame::header(&mut self.out, length, Kind::DATA, flags, stream.id);
                self.out.extend_from_slice(&stream.unsent);
                stream.unsent = rest;
                self.window -= length as i64;
                stream.window -= length as i64;
            }
        }
    }

    /// What waits to be sent.
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

    /// Gives a stream up; what still comes for it is ignored.
    pub fn cancel(&mut self, place: usize) -> Stream {
        let stream = self.streams.remove(place);
        frame::reset(&mut self.out, stream.id, frame::CANCEL);
        stream
    }

    /// Takes bytes until a stream is over or they are used up (`None`).
    pub fn feed(
        &mut self,
        bytes: &mut &[u8],
        listener: &mut impl Listener,
    ) -> Result<Option<Ended>, Fault> {
        loop {
            let Some(header) = self.frame.or_else(|| self.take_header(bytes)) else {
                return Ok(None);
            };
            if self.frame.is_none() {
                self.begin_frame(header)?;
            }
            let ended = match header.kind {
                Kind::DATA => match self.take_data(header, bytes, listener)? {
                    false => return Ok(None),
                    true => {
                        self.frame = None;
                        self.end_of(header, header.has(FLAG_END_STREAM))
                    }
                },
                _ => {
                    let Some(payload) = self.take_payload(header, bytes) else {
                        return Ok(None);
                    };
                    self.frame = None;
                    self.on_frame(header, &payload, listener)?
                }
            };
            if ended.is_some() {
                return Ok(ended);
            }
        }
    }

    fn take_header(&mut self, bytes: &mut &[u8]) -> Option<Header> {
        if self.carry.is_empty() && bytes.len() >= frame::HEADER_LENGTH {
            let (header, rest) = bytes.split_at(frame::HEADER_LENGTH);
            *bytes = rest;
            return Header::read(header);
        }
        let take = (frame::HEADER_LENGTH - self.carry.len()).min(bytes.len());
        self.carry.extend_from_slice(&bytes[..take]);
        *bytes = &bytes[take..];
        if self.carry.len() < frame::HEADER_LENGTH {
            return None;
        }
        let header = Header::read(&self.carry);
        self.carry.clear();
        header
    }

    fn begin_frame(&mut self, header: Header) -> Result<(), Fault> {
        if header.length > LARGEST_FRAME {
            return Err(Fault);
        }
        // RFC 9113 section 6.10: nothing comes between a block and its continuation.
        if self.block.is_some() && header.kind != Kind::CONTINUATION {
            return Err(Fault);
        }
        let padded = header.kind == Kind::DATA && header.has(FLAG_PADDED);
        self.data = Data {
            content: header.length,
            padding: 0,
            padded,
        };
        self.frame = Some(header);
        Ok(())
    }

    /// The whole payload of a frame that is not DATA, when it is there.
    fn take_payload<'b>(
        &mut self,
        header: Header,
        bytes: &mut &'b [u8],
    ) -> Option<std::borrow::Cow<'b, [u8]>> {
        if self.carry.is_empty() && bytes.len() >= header.length {
            let (payload, rest) = bytes.split_at(header.length);
            *bytes = rest;
            return Some(payload.into());
        }
        let take = (header.length - self.carry.len()).min(bytes.len());
        self.carry.extend_from_slice(&bytes[..take]);
        *bytes = &bytes[take..];
        (self.carry.len() == header.length).then(|| std::mem::take(&mut self.carry).into())
    }

    /// Passes content on; answers whether the frame is over.
    fn take_data(
        &mut self,
        header: Header,
        bytes: &mut &[u8],
        listener: &mut impl Listener,
    ) -> Result<bool, Fault> {
        if self.data.padded {
            let Some((first, rest)) = bytes.split_first() else {
                return Ok(false);
            };
            *bytes = rest;
            self.data.padded = false;
            self.data.padding = usize::from(*first);
            self.data.content = self
                .data
                .content
                .checked_sub(1 + self.data.padding)
                .ok_or(Fault)?;
        }
        let take = self.data.content.min(bytes.len());
        let (piece, rest) = bytes.split_at(take);
        self.data.content -= take;
        if let Some(stream) = self
            .streams
            .iter_mut()
            .find(|stream| stream.id == header.stream)
        {
            stream.facts.body_bytes += take as u64;
            listener.body(stream, piece);
        }
        let skip = self.data.padding.min(rest.len());
        if self.data.content == 0 {
            self.data.padding -= skip;
            *bytes = &rest[skip..];
        } else {
            *bytes = rest;
        }
        let over = self.data.content == 0 && self.data.padding == 0;
        if over {
            self.credit(header.length);
        }
        Ok(over)
    }

    /// Opens the connection's window again before it can close. A stream's own holds 2 GiB.
    fn credit(&mut self, length: usize) {
        self.uncredited += length;
        if self.uncredited > CREDIT_AFTER {
            frame::window_update(&mut self.out, 0, self.uncredited as u32);
            self.uncredited = 0;
        }
    }

    fn end_of(&mut self, header: Header, ends: bool) -> Option<Ended> {
        let place = self
            .streams
            .iter()
            .position(|stream| stream.id == header.stream)?;
        self.streams[place].facts.framing_bytes += frame::HEADER_LENGTH as u64;
        ends.then(|| Ended::Answered(self.streams.remove(place)))
    }

    fn on_frame(
        &mut self,
        header: Header,
        payload: &[u8],
        listener: &mut impl Listener,
    ) -> Result<Option<Ended>, Fault> {
        match header.kind {
            Kind::HEADERS => {
                let fragment =
                    frame::without_padding(header, payload, FLAG_PRIORITY).ok_or(Fault)?;
                let ends = header.has(FLAG_END_STREAM);
                if header.has(FLAG_END_HEADERS) {
                    return self.on_block(header.stream, ends, fragment, listener);
                }
                self.block = Some((header.stream, ends, fragment.to_vec()));
            }
            Kind::CONTINUATION => {
                let (stream, ends, mut block) = self.block.take().ok_or(Fault)?;
                if stream != header.stream || block.len() + payload.len() > LARGEST_BLOCK {
                    return Err(Fault);
                }
                block.extend_from_slice(payload);
                if header.has(FLAG_END_HEADERS) {
                    return self.on_block(stream, ends, &block, listener);
                }
                self.block = Some((stream, ends, block));
            }
            Kind::RST_STREAM => {
                let place = self
                    .streams
                    .iter()
                    .position(|stream| stream.id == header.stream);
                return Ok(place.map(|place| Ended::Reset(self.streams.remove(place))));
            }
            Kind::SETTINGS if !header.has(FLAG_ACK) => {
                self.on_settings(payload)?;
                frame::header(&mut self.out, 0, Kind::SETTINGS, FLAG_ACK, 0);
            }
            Kind::PING if !header.has(FLAG_ACK) => {
                frame::header(&mut self.out, payload.len(), Kind::PING, FLAG_ACK, 0);
                self.out.extend_from_slice(payload);
            }
            Kind::GOAWAY => self.closing = true,
            Kind::WINDOW_UPDATE => {
                let increment = i64::from(frame::number(payload).ok_or(Fault)? & 0x7fff_ffff);
                match header.stream {
                    0 => self.window += increment,
                    id => {
                        let stream = self.streams.iter_mut().find(|stream| stream.id == id);
                        stream
                            .map(|stream| stream.window += increment)
                            .unwrap_or_default();
                    }
                }
                self.send_bodies();
            }
            // Push was refused in our settings.
            Kind::PUSH_PROMISE => return Err(Fault),
            _ => {}
        }
        Ok(None)
    }

    fn on_block(
        &mut self,
        id: u32,
        ends: bool,
        block: &[u8],
        listener: &mut impl Listener,
    ) -> Result<Option<Ended>, Fault> {
        let Some(place) = self.streams.iter().position(|stream| stream.id == id) else {
            return Ok(None);
        };
        let stream = &mut self.streams[place];
        stream.flight.first_byte = stream.flight.first_byte.min(self.now);
        let size = (block.len() + frame::HEADER_LENGTH) as u64;
        if stream.facts.status >= 200 {
            // Trailers.
            stream.facts.framing_bytes += size;
        } else {
            stream.facts.status = hpack::status(block).ok_or(Fault)?;
            stream.facts.head_bytes += size;
            if stream.facts.status >= 200 {
                listener.head(stream, block);
            }
        }
        stream.facts.persistent = true;
        Ok(ends.then(|| Ended::Answered(self.streams.remove(place))))
    }

    fn on_settings(&mut self, payload: &[u8]) -> Result<(), Fault> {
        if payload.len() % 6 != 0 {
            return Err(Fault);
        }
        for entry in payload.chunks_exact(6) {
            let name = u16::from_be_bytes([entry[0], entry[1]]);
            let value = frame::number(&entry[2..]).ok_or(Fault)?;
            match name {
                1 if (value as usize) < hpack::TABLE && self.table != Table::None => {
                    self.table = Table::Withdrawn;
                }
                3 => self.most_streams = value as usize,
                4 => {
                    let change = i64::from(value) - self.initial_window;
                    self.initial_window += change;
                    for stream in &mut self.streams {
                        stream.window += change;
                    }
                    self.send_bodies();
                }
                5 => self.frame_size = value as usize,
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
