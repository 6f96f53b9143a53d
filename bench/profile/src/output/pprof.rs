//! pprof's format (`profile.proto`), compressed: `go tool pprof`, Speedscope and others read it.
//!
//! The few messages are written by hand: a message is a sequence of fields, each with its number.

use crate::profile::{FrameKind, Profile};
use flate2::write::GzEncoder;
use flate2::Compression;
use std::collections::HashMap;
use std::io::{self, Write};

/// A message in protobuf's encoding.
#[derive(Default)]
struct ProtobufMessage(Vec<u8>);

impl ProtobufMessage {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn numbers(&mut self, field: u64, values: impl IntoIterator<Item = u64>) {
        let mut packed = ProtobufMessage::default();
        values.into_iter().for_each(|value| packed.varint(value));
        self.bytes(field, &packed.0);
    }
}

/// The table of texts; the first is empty.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// Writes the profile with processor and wall clock time of each stack, in nanoseconds.
///
/// # Errors
/// Compression failed.
pub fn pprof(profile: &Profile) -> io::Result<Vec<u8>> {
    let mut texts = Texts::default();
    texts.number("");
    let mut out = ProtobufMessage::default();
    for kind in ["samples", "cpu", "wall"] {
        let unit = if kind == "samples" {
            "count"
        } else {
            "nanoseconds"
        };
        let mut value = ProtobufMessage::default();
        value.number(1, texts.number(kind));
        value.number(2, texts.number(unit));
        out.bytes(1, &value.0);
    }
    for (stack, (cpu, wall)) in profile.weights() {
        out.bytes(2, &sample(profile, stack, cpu, wall).0);
    }
    for (number, frame) in (1..).zip(&profile.frames) {
        out.bytes(4, &location(number, frame.line).0);
        let name = match frame.kind {
            FrameKind::Perl | FrameKind::Wait => frame.name.clone(),
            kind => format!("{} ({})", frame.name, kind.word()),
        };
        let mut function = ProtobufMessage::default();
        function.number(1, number);
        function.number(2, texts.number(&name));
        function.number(4, texts.number(&frame.file));
        out.bytes(5, &function.0);
    }
    for text in &texts.all {
        out.bytes(6, text.as_bytes());
    }
    out.number(10, (profile.facts.seconds * 1e9) as u64);
    out.number(12, (1e9 / profile.facts.rate.max(1e-9)) as u64);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&out.0)?;
    encoder.finish()
}

fn sample(profile: &Profile, stack: u32, cpu: u64, wall: u64) -> ProtobufMessage {
    let mut sample = ProtobufMessage::default();
    let leaf_first = profile.stacks[stack as usize].iter().rev();
    sample.numbers(1, leaf_first.map(|&frame| u64::from(frame) + 1));
    let cpu_time = cpu as f64 * profile.cpu_weight() * 1e9;
    let wall_time = wall as f64 * profile.wall_weight() * 1e9;
    sample.numbers(2, [wall, cpu_time as u64, wall_time as u64]);
    sample
}

/// A frame: here each has a function of its own.
fn location(number: u64, line: u32) -> ProtobufMessage {
    let (mut at, mut location) = (ProtobufMessage::default(), ProtobufMessage::default());
    at.number(1, number);
    at.number(2, u64::from(line));
    location.number(1, number);
    location.bytes(4, &at.0);
    location
}
