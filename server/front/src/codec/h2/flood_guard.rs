//! Counts the frames that a client sends, before the library sees the frames. Control frames cost
//! the client only a few bytes, but the server must work for each. Their number must stay in
//! proportion to the requests.
//!
//! `CoalescingIo` passes the received bytes to [`FloodGuard::read`], and the connection asks for
//! the [`FloodGuard::verdict`]. The guard looks only at the headers of frames (RFC 9113 section
//! 4.1).

use std::time::Duration;

/// The control frames that a client may send at once. The next constants allow further frames for
/// each request and for each second of the connection. They also allow one frame for each
/// `BYTES_A_CONTROL` bytes that the client has received, because window updates acknowledge bytes.
const CONTROL_AT_ONCE: u64 = 1000;
const CONTROL_A_REQUEST: u64 = 16;
const CONTROL_A_SECOND: u64 = 20;
const BYTES_A_CONTROL: u64 = 2048;
/// The streams that a client may reset, in addition to half of the client's streams.
const RESETS: u64 = 200;
/// The most CONTINUATION frames of a header block.
const CONTINUATIONS: u32 = 16;

const HEADER: usize = 9;

#[derive(Default)]
pub struct FloodGuard {
    /// The header of the current frame.
    header: [u8; HEADER],
    known: usize,
    /// The remaining bytes of the current frame's payload.
    payload: usize,
    /// The remaining bytes of the client's preface.
    preface: usize,
    requests: u64,
    control: u64,
    resets: u64,
    continuations: u32,
    /// Bytes that the server has written to the client.
    sent: u64,
    verdict: Option<&'static str>,
}

impl FloodGuard {
    /// Begins to count. `preface` is the number of bytes before the first frame.
    pub fn new(preface: usize) -> FloodGuard {
        FloodGuard {
            preface,
            ..FloodGuard::default()
        }
    }

    pub fn count_sent(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// Counts the frames in received bytes.
    pub fn read(&mut self, mut bytes: &[u8]) {
        let skipped = self.preface.min(bytes.len());
        self.preface -= skipped;
        bytes = &bytes[skipped..];
        while !bytes.is_empty() {
            let skipped = self.payload.min(bytes.len());
            self.payload -= skipped;
            bytes = &bytes[skipped..];
            let wanted = (HEADER - self.known).min(bytes.len());
            self.header[self.known..self.known + wanted].copy_from_slice(&bytes[..wanted]);
            self.known += wanted;
            bytes = &bytes[wanted..];
            if self.known == HEADER {
                self.known = 0;
                self.frame();
            }
        }
    }

    fn frame(&mut self) {
        let [a, b, c, kind, flags, ..] = self.header;
        self.payload = u32::from_be_bytes([0, a, b, c]) as usize;
        let ends_headers = flags & 4 != 0;
        match kind {
            // DATA. An empty frame carries nothing but costs work.
            0 if self.payload == 0 && flags & 1 == 0 => self.control += 1,
            0 => {}
            // HEADERS
            1 => {
                self.requests += 1;
                self.continuations = 0;
            }
            // RST_STREAM
            3 => {
                self.resets += 1;
                self.control += 1;
            }
            // CONTINUATION
            9 => {
                self.continuations += 1;
                if self.continuations > CONTINUATIONS && !ends_headers {
                    self.verdict = Some("a header block in too many pieces");
                }
            }
            // PRIORITY, SETTINGS, PING, WINDOW_UPDATE and unknown frames.
            _ => self.control += 1,
        }
    }

    /// Returns the kind of flood on a connection of this age, if there is a flood.
    pub fn verdict(&self, age: Duration) -> Option<&'static str> {
        let allowed = CONTROL_AT_ONCE
            + self.requests * CONTROL_A_REQUEST
            + age.as_secs() * CONTROL_A_SECOND
            + self.sent / BYTES_A_CONTROL;
        match () {
            () if self.verdict.is_some() => self.verdict,
            () if self.resets > RESETS + self.requests / 2 => {
                Some("too many requests are reset at once")
            }
            () if self.control > allowed => Some("more control frames than requests warrant"),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, length: usize) -> Vec<u8> {
        let size = (length as u32).to_be_bytes();
        let mut frame = vec![size[1], size[2], size[3], kind, flags, 0, 0, 0, 1];
        frame.resize(HEADER + length, 0);
        frame
    }

    fn of(frames: impl IntoIterator<Item = Vec<u8>>) -> Option<&'static str> {
        let bytes: Vec<u8> = frames.into_iter().flatten().collect();
        let mut whole = FloodGuard::new(24);
        whole.read(&[b'P'; 24]);
        whole.read(&bytes);
        let mut pieces = FloodGuard::new(24);
        pieces.read(&[b'P'; 24]);
        bytes.chunks(5).for_each(|piece| pieces.read(piece));
        let verdict = whole.verdict(Duration::ZERO);
        assert_eq!(
            verdict,
            pieces.verdict(Duration::ZERO),
            "however it arrives"
        );
        verdict
    }

    fn many(count: usize, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        std::iter::repeat_n(frames.to_vec(), count)
            .flatten()
            .collect()
    }

    #[test]
    fn usual_clients_pass() {
        let request = [frame(1, 5, 40), frame(8, 0, 4)];
        assert_eq!(of(many(100_000, &request)), None);
        assert_eq!(of(many(100, &[frame(1, 5, 40), frame(3, 0, 4)])), None);
        assert_eq!(of(many(900, &[frame(6, 0, 8)])), None);
        assert_eq!(of(many(50_000, &[frame(0, 0, 100)])), None);
        assert_eq!(
            of([frame(1, 0, 100), frame(9, 0, 100), frame(9, 4, 100)]),
            None
        );
    }

    #[test]
    fn floods_are_told_by_name() {
        let resets = of(many(2_000, &[frame(1, 5, 40), frame(3, 0, 4)]));
        assert_eq!(resets, Some("too many requests are reset at once"));
        for frames in [
            frame(6, 0, 8),
            frame(4, 0, 6),
            frame(0, 0, 0),
            frame(2, 0, 5),
            frame(8, 0, 4),
            frame(99, 0, 0),
        ] {
            let control = of(many(1_001, &[frames]));
            assert_eq!(control, Some("more control frames than requests warrant"));
        }
        let pieces = many(17, &[frame(9, 0, 1)]);
        assert_eq!(of(pieces), Some("a header block in too many pieces"));
    }

    #[test]
    fn time_and_traffic_warrant_more() {
        let mut flood_guard = FloodGuard::new(0);
        many(3_000, &[frame(8, 0, 4)])
            .iter()
            .for_each(|frame| flood_guard.read(frame));
        assert!(flood_guard.verdict(Duration::from_secs(99)).is_some());
        assert_eq!(flood_guard.verdict(Duration::from_secs(100)), None);
        flood_guard.count_sent(2_000 * 2048);
        assert_eq!(flood_guard.verdict(Duration::ZERO), None);
    }
}
