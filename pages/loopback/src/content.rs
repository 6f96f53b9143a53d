//! What a path answers: a status, a media type and bytes, plain and compressed.

use bytes::Bytes;
use flate2::{write::GzEncoder, Compression};
use hyper::StatusCode;
use std::io::Write;

/// The media types of pages and of their figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    Page,
    Style,
    Script,
    Picture,
    /// A picture in PNG.
    Image,
    Json,
    Text,
}

impl MediaType {
    /// Returns the value of the field Content-Type.
    pub fn name(self) -> &'static str {
        match self {
            MediaType::Page => "text/html; charset=utf-8",
            MediaType::Style => "text/css; charset=utf-8",
            MediaType::Script => "text/javascript; charset=utf-8",
            MediaType::Picture => "image/svg+xml",
            MediaType::Image => "image/png",
            MediaType::Json => "application/json",
            MediaType::Text => "text/plain; charset=utf-8",
        }
    }
}

/// An answer before the client's codings are known. A clone shares the bytes.
#[derive(Clone)]
pub struct Content {
    pub status: StatusCode,
    pub media_type: MediaType,
    pub plain: Bytes,
    /// The same bytes in gzip's coding, if they were worth it.
    pub compressed: Option<Bytes>,
    /// Whether another program has made the file. A browser runs no script of such a file.
    pub is_foreign: bool,
}

impl Content {
    /// Makes the content of a file that is sent often. It is compressed once, as far as possible.
    pub fn file(media_type: MediaType, plain: impl Into<Bytes>) -> Content {
        let plain = plain.into();
        Content {
            status: StatusCode::OK,
            media_type,
            compressed: Some(compress(&plain, Compression::best())),
            plain,
            is_foreign: false,
        }
    }

    /// Makes a content for one answer. It is compressed quickly.
    pub fn once(status: StatusCode, media_type: MediaType, plain: impl Into<Bytes>) -> Content {
        let plain = plain.into();
        Content {
            status,
            media_type,
            compressed: Some(compress(&plain, Compression::fast())),
            plain,
            is_foreign: false,
        }
    }

    /// Makes a short text, which is not compressed.
    pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Content {
        Content {
            status,
            media_type: MediaType::Text,
            plain: text.into(),
            compressed: None,
            is_foreign: false,
        }
    }

    /// Makes the content of a file that another program has made.
    pub fn foreign(media_type: MediaType, plain: impl Into<Bytes>) -> Content {
        Content {
            is_foreign: true,
            ..Content::once(StatusCode::OK, media_type, plain)
        }
    }
}

/// Compresses with gzip. Compression into memory does not fail.
fn compress(plain: &[u8], level: Compression) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    let written = encoder.write_all(plain).and_then(|()| encoder.finish());
    written.unwrap_or_default().into()
}
