//! Measures what compression saves of the pages that were requested.

use super::advice_or;
use crate::cli::doctor::advice::{figure, Advice, Verdict};
use crate::cli::doctor::examination::Examination;
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::bytes;
use crate::cli::doctor::visits::VisitedPage;
use flate2::write::GzEncoder;
use flate2::Compression;
use std::io::Write;
use std::time::Instant;

/// A page below this many bytes fits into one packet anyway.
const LEAST_BYTES: usize = 1_400;
/// The least share that compression must save.
const LEAST_SAVED: f64 = 0.2;
/// The level of `DEFLATE`, unless DeflateCompressionLevel names another.
const LEVEL: u32 = 6;

pub fn check(examination: &Examination) -> Verdict {
    if let Err(why) = examination.running() {
        return Verdict::Unmeasured(why);
    }
    if examination.pages.is_empty() {
        return Verdict::Unmeasured("needs a URL to request: mehari doctor URL".to_owned());
    }
    let mut told = Vec::new();
    let mut advice = Vec::new();
    for page in &examination.pages {
        match advise(examination, page) {
            Ok(found) => advice.push(found),
            Err(why) => told.push(format!("{}: {why}", page.url)),
        }
    }
    advice_or(advice, told.join("; "))
}

/// Advises compression of the page's type, or says why not.
fn advise(examination: &Examination, page: &VisitedPage) -> Result<Advice, String> {
    let plain = page.plain.body();
    let size = plain.len();
    if let Some(coding) = page.coded.field("content-encoding") {
        let coded = page.coded.body().len();
        return Err(format!("{size} bytes are sent as {coded} ({coding})"));
    }
    if page.plain.code() != Some(200) || size < LEAST_BYTES {
        return Err(format!(
            "{size} bytes, status {}",
            page.plain.code().unwrap_or_default()
        ));
    }
    let kind = page.plain.field("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_owned();
    if kind.is_empty() {
        return Err("the response has no type".to_owned());
    }
    let begun = Instant::now();
    let coded = compressed(plain).ok_or("the page cannot be compressed")?;
    let took_ms = begun.elapsed().as_secs_f64() * 1e3;
    let saved = 1.0 - coded as f64 / size as f64;
    if saved < LEAST_SAVED {
        return Err(format!(
            "{size} bytes of {kind} would be {coded} compressed"
        ));
    }
    let line = format!("AddOutputFilterByType DEFLATE {kind}");
    Ok(Advice {
        what: format!(
            "{} is sent uncompressed to clients that accept compression",
            page.url
        ),
        measured: format!(
            "{} of {kind} become {} by gzip ({:.0} % less), in {took_ms:.2} ms of processor time",
            bytes(size as f64),
            bytes(coded as f64),
            100.0 * saved
        ),
        figures: vec![
            figure("sent", size as f64, "bytes a request"),
            figure("compressed", coded as f64, "bytes a request"),
            figure("compressing", took_ms, "ms a request"),
        ],
        change: examination
            .configuration
            .add(&["AddOutputFilterByType"], &line),
        gain: gain::of_lines_with(
            examination,
            &[&line],
            &page.url,
            "-H 'Accept-Encoding: gzip'",
        ),
    })
}

fn compressed(body: &[u8]) -> Option<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
    encoder.write_all(body).ok()?;
    Some(encoder.finish().ok()?.len())
}
