//! Compresses one body. The caller writes plain bytes and takes compressed bytes. A flush makes all
//! written bytes available to the client.

use brotli::enc::BrotliEncoderParams;
use flate2::write::GzEncoder;
use mehari_config::Coding;
use std::io::{self, Write};

/// The most bytes that are compressed on the event loop. A thread compresses longer pieces.
pub const IN_PLACE: usize = 16 * 1024;
/// The initial size in bytes of the encoder's output buffer.
const ROOM: usize = 16 * 1024;

pub enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstandard(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    /// Makes an encoder. A known `length` of the body limits the encoder's memory.
    pub fn new(coding: Coding, level: u32, length: Option<u64>) -> io::Result<Encoder> {
        let out = Vec::with_capacity(ROOM);
        Ok(match coding {
            Coding::Gzip => Encoder::Gzip(GzEncoder::new(out, flate2::Compression::new(level))),
            Coding::Brotli => {
                let mut parameters = BrotliEncoderParams {
                    quality: level as i32,
                    ..BrotliEncoderParams::default()
                };
                if let Some(length) = length {
                    parameters.size_hint = length as usize;
                    // A window larger than the body would waste memory.
                    parameters.lgwin = (64 - length.leading_zeros() as i32).clamp(12, 22);
                }
                let writer = brotli::CompressorWriter::with_params(out, ROOM, &parameters);
                Encoder::Brotli(Box::new(writer))
            }
            Coding::Zstandard => {
                let mut encoder = zstd::stream::write::Encoder::new(out, level as i32)?;
                encoder.set_pledged_src_size(length)?;
                Encoder::Zstandard(encoder)
            }
        })
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Encoder::Gzip(encoder) => encoder.write_all(bytes),
            Encoder::Brotli(encoder) => encoder.write_all(bytes),
            Encoder::Zstandard(encoder) => encoder.write_all(bytes),
        }
    }

    /// Flushes the encoder, so that the client can decode everything that was written.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Brotli(encoder) => encoder.flush(),
            Encoder::Zstandard(encoder) => encoder.flush(),
        }
    }

    /// Takes the compressed bytes that are ready.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(match self {
            Encoder::Gzip(encoder) => encoder.get_mut(),
            Encoder::Brotli(encoder) => encoder.get_mut(),
            Encoder::Zstandard(encoder) => encoder.get_mut(),
        })
    }

    /// Ends the body and returns the rest of the output.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Brotli(encoder) => Ok(encoder.into_inner()),
            Encoder::Zstandard(encoder) => encoder.finish(),
        }
    }
}

/// Compresses a complete body.
pub fn whole(coding: Coding, level: u32, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = Encoder::new(coding, level, Some(bytes.len() as u64))?;
    encoder.write(bytes)?;
    encoder.finish()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::io::Read;

    pub fn plain(coding: Coding, bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        // Truncated input is decoded as far as possible.
        let _ = match coding {
            Coding::Gzip => flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain),
            Coding::Brotli => brotli::Decompressor::new(bytes, 4096).read_to_end(&mut plain),
            Coding::Zstandard => zstd::stream::read::Decoder::new(bytes)
                .expect("a frame")
                .read_to_end(&mut plain),
        };
        plain
    }

    #[test]
    fn every_coding_gives_back_what_was_written_and_flushes_on_request() {
        let text = "all the world's a stage, ".repeat(4000);
        for coding in Coding::ALL {
            let all = whole(coding, 5, text.as_bytes()).expect("compressed");
            assert!(all.len() < text.len() / 20, "{coding:?}: {}", all.len());
            assert_eq!(plain(coding, &all), text.as_bytes(), "{coding:?}");

            let mut encoder = Encoder::new(coding, 5, None).expect("an encoder");
            let mut sent = Vec::new();
            for piece in ["one ", "two ", "three"] {
                encoder.write(piece.as_bytes()).expect("written");
                encoder.flush().expect("flushed");
                sent.extend(encoder.take());
                assert!(
                    plain(coding, &sent).ends_with(piece.as_bytes()),
                    "{coding:?}"
                );
            }
            sent.extend(encoder.finish().expect("finished"));
            assert_eq!(plain(coding, &sent), b"one two three", "{coding:?}");
        }
    }
}
