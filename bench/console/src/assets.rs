//! The files of the console's pages. They are part of the binary, and are compressed once.

use bytes::Bytes;
use flate2::{write::GzEncoder, Compression};
use std::collections::HashMap;
use std::io::Write;

/// One file of the pages.
pub struct Asset {
    pub media_type: &'static str,
    pub plain: &'static [u8],
    pub compressed: Bytes,
}

macro_rules! assets {
    ($($name:literal: $media_type:ident),* $(,)?) => {
        const FILES: &[(&str, &str, &[u8])] = &[
            $(($name, $media_type, include_bytes!(concat!("../web/", $name)))),*
        ];
    };
}

const PAGE: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

assets! {
    "index.html": PAGE,
    "console.css": STYLE,
    "mark.svg": PICTURE,
    "main.js": SCRIPT,
    "chart.js": SCRIPT,
    "elements.js": SCRIPT,
    "samples.js": SCRIPT,
    "table.js": SCRIPT,
    "words.js": SCRIPT,
    "now.js": SCRIPT,
    "worker.js": SCRIPT,
    "memory.js": SCRIPT,
    "back_ends.js": SCRIPT,
    "machine.js": SCRIPT,
    "where.js": SCRIPT,
    "errors.js": SCRIPT,
    "history.js": SCRIPT,
}

/// Returns all files by their names. The page itself has the empty name.
pub fn all() -> HashMap<&'static str, Asset> {
    let asset = |&(name, media_type, plain): &(&'static str, &'static str, &'static [u8])| {
        let name = if name == "index.html" { "" } else { name };
        let asset = Asset {
            media_type,
            plain,
            compressed: compress(plain, Compression::best()),
        };
        (name, asset)
    };
    FILES.iter().map(asset).collect()
}

/// Compresses with gzip. Compression into memory does not fail.
pub fn compress(plain: &[u8], level: Compression) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    let written = encoder.write_all(plain).and_then(|()| encoder.finish());
    written.unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::all;

    /// The limit for a load of the page.
    const MOST_BYTES: usize = 150_000;

    #[test]
    fn pages_are_small_and_name_no_other_host() {
        let all = all();
        let sum: usize = all.values().map(|asset| asset.compressed.len()).sum();
        assert!(all.contains_key("") && sum < MOST_BYTES, "{sum} bytes");
        for (name, asset) in all {
            let text = String::from_utf8_lossy(asset.plain).replace("http://www.w3.org/", "");
            for forbidden in [
                "http:",
                "https:",
                "innerHTML",
                "insertAdjacentHTML",
                " style=",
            ] {
                assert!(!text.contains(forbidden), "{name} contains {forbidden}");
            }
        }
    }
}
