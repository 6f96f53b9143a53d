//! Receives HTTP/2 frames: assembles each frame from the pieces that the socket delivers, and acts
//! on it.

use std::borrow::Cow;

use super::frame::{
    self, FrameType, Header, FLAG_ACK, FLAG_END_HEADERS, FLAG_END_STREAM, FLAG_PADDED,
    FLAG_PRIORITY,
};
use super::{
    hpack, Data, EndedStream, Fault, Http2, Listener, Table, CREDIT_AFTER, LARGEST_BLOCK,
    LARGEST_FRAME,
};

impl Http2 {
    /// Reads `bytes` until a stream ends, and returns that stream. Returns `None` if no stream ends
    /// in `bytes`.
    pub fn feed(
        &mut self,
        bytes: &mut &[u8],
        listener: &mut impl Listener,
    ) -> Result<Option<EndedStream>, Fault> {
        loop {
            let Some(header) = self.frame.or_else(|| self.take_header(bytes)) else {
                return Ok(None);
            };
            if self.frame.is_none() {
                self.begin_frame(header)?;
            }
            let ended = match header.kind {
                FrameType::DATA => {
                    if self.take_data(header, bytes, listener)? {
                        self.frame = None;
                        self.end_of(header, header.has(FLAG_END_STREAM))
                    } else {
                        return Ok(None);
                    }
                }
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
        // RFC 9113 section 6.10: no frame may come between a header block and its continuation.
        if self.block.is_some() && header.kind != FrameType::CONTINUATION {
            return Err(Fault);
        }
        let padded = header.kind == FrameType::DATA && header.has(FLAG_PADDED);
        self.data = Data {
            content: header.length,
            padding: 0,
            padded,
        };
        self.frame = Some(header);
        Ok(())
    }

    /// Returns the whole payload of a frame other than DATA; `None` while the payload is
    /// incomplete.
    fn take_payload<'b>(&mut self, header: Header, bytes: &mut &'b [u8]) -> Option<Cow<'b, [u8]>> {
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

    /// Passes content to the listener. Returns whether the frame is complete.
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

    /// Enlarges the connection's window before the server has used it up. A stream's window of 2
    /// GiB is never enlarged.
    fn credit(&mut self, length: usize) {
        self.uncredited += length;
        if self.uncredited > CREDIT_AFTER {
            frame::window_update(&mut self.out, 0, self.uncredited as u32);
            self.uncredited = 0;
        }
    }

    fn end_of(&mut self, header: Header, ends: bool) -> Option<EndedStream> {
        let place = self
            .streams
            .iter()
            .position(|stream| stream.id == header.stream)?;
        self.streams[place].facts.framing_bytes += frame::HEADER_LENGTH as u64;
        ends.then(|| EndedStream::Answered(self.streams.remove(place)))
    }

    fn on_frame(
        &mut self,
        header: Header,
        payload: &[u8],
        listener: &mut impl Listener,
    ) -> Result<Option<EndedStream>, Fault> {
        match header.kind {
            FrameType::HEADERS => {
                let fragment =
                    frame::without_padding(header, payload, FLAG_PRIORITY).ok_or(Fault)?;
                let ends = header.has(FLAG_END_STREAM);
                if header.has(FLAG_END_HEADERS) {
                    return self.on_block(header.stream, ends, fragment, listener);
                }
                self.block = Some((header.stream, ends, fragment.to_vec()));
            }
            FrameType::CONTINUATION => {
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
            FrameType::RST_STREAM => {
                let place = self
                    .streams
                    .iter()
                    .position(|stream| stream.id == header.stream);
                let refused = frame::number(payload) == Some(frame::REFUSED_STREAM);
                return Ok(place.map(|place| match self.streams.remove(place) {
                    stream if refused => EndedStream::Refused(stream),
                    stream => EndedStream::Reset(stream),
                }));
            }
            FrameType::SETTINGS if !header.has(FLAG_ACK) => {
                self.on_settings(payload)?;
                frame::header(&mut self.out, 0, FrameType::SETTINGS, FLAG_ACK, 0);
            }
            FrameType::PING if !header.has(FLAG_ACK) => {
                frame::header(&mut self.out, payload.len(), FrameType::PING, FLAG_ACK, 0);
                self.out.extend_from_slice(payload);
            }
            FrameType::GOAWAY => self.closing = true,
            FrameType::WINDOW_UPDATE => {
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
            // The client's settings forbid push.
            FrameType::PUSH_PROMISE => return Err(Fault),
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
    ) -> Result<Option<EndedStream>, Fault> {
        let Some(place) = self.streams.iter().position(|stream| stream.id == id) else {
            return Ok(None);
        };
        let stream = &mut self.streams[place];
        let came = self.came.max(stream.flight.write_begun);
        stream.flight.first_byte = stream.flight.first_byte.min(came);
        let size = (block.len() + frame::HEADER_LENGTH) as u64;
        if stream.facts.status >= 200 {
            // The block holds trailers.
            stream.facts.framing_bytes += size;
        } else {
            stream.facts.status = hpack::status(block).ok_or(Fault)?;
            stream.facts.head_bytes += size;
            if stream.facts.status >= 200 {
                listener.head(stream, block);
            }
        }
        stream.facts.persistent = true;
        Ok(ends.then(|| EndedStream::Answered(self.streams.remove(place))))
    }

    fn on_settings(&mut self, payload: &[u8]) -> Result<(), Fault> {
        if !payload.len().is_multiple_of(6) {
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
