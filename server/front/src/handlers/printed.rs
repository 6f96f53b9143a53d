//! Completes the head that a script prints: evaluates the request's conditions and corrects dates.
//! mod_cgi and mod_perl do the same.
//!
//! The pipeline calls `settle` for a head without a status. The body of an unchanged page is still
//! read to its end, so the script ends normally.

use crate::request::Request;
use mehari_http::condition::date;
use mehari_http::header_block::{self, HeaderBlock};
use mehari_pool::Head;
use std::ops::Range;
use std::time::SystemTime;

/// The fields about a body. A response with 304 has no body and none of these fields.
const OF_THE_BODY: [&[u8]; 3] = [b"content-type", b"content-length", b"content-encoding"];

/// Makes the head a 304 if the request's conditions demand it. Returns false for a 412.
pub fn settle(request: &Request<'_>, head: &mut Head, lines: &mut HeaderBlock) -> bool {
    if let Some(place) = lines.modified.clone() {
        write_date(head, lines, place);
    }
    if !matches!(request.method, b"GET" | b"HEAD") || head.status != 200 {
        return true;
    }
    let value = |place: &Option<Range<usize>>| place.clone().map(|place| &head.lines[place]);
    // As in Apache, a page without a date was modified now.
    let modified = value(&lines.modified).and_then(date);
    let modified = modified.or_else(|| Some(SystemTime::now()));
    let tag = value(&lines.tag).unwrap_or_default();
    match request.conditions().precondition(tag, modified) {
        Some(304) => head.status = 304,
        met => return met.is_none(),
    }
    head.content_length = None;
    let mut kept = Vec::with_capacity(head.lines.len());
    for line in head.lines.split_inclusive(|&byte| byte == b'\n') {
        let name = line.split(|&byte| byte == b':').next().unwrap_or(line);
        if !OF_THE_BODY
            .iter()
            .any(|of_body| name.eq_ignore_ascii_case(of_body))
        {
            kept.extend_from_slice(line);
        }
    }
    replace(head, lines, kept);
    true
}

/// Writes Last-Modified in HTTP's format and never later than now. Programs write `+0000` for GMT,
/// which clients do not understand, and dates in the future.
fn write_date(head: &mut Head, lines: &mut HeaderBlock, place: Range<usize>) {
    let text = &head.lines[place.clone()];
    let now = SystemTime::now();
    let in_gmt = text.strip_suffix(b"+0000").or(text.strip_suffix(b"UTC"));
    let Some(written) = date(&in_gmt.map_or_else(|| text.to_vec(), |day| [day, b"GMT"].concat()))
    else {
        return;
    };
    if in_gmt.is_none() && written <= now {
        return;
    }
    let text = httpdate::fmt_http_date(written.min(now));
    let (before, after) = (&head.lines[..place.start], &head.lines[place.end..]);
    let block = [before, text.as_bytes(), after].concat();
    replace(head, lines, block);
}

fn replace(head: &mut Head, lines: &mut HeaderBlock, block: Vec<u8>) {
    // The block stays valid: whole lines were removed, or a date was replaced.
    if let Ok(examined) = header_block::validate(&block) {
        (head.lines, *lines) = (block, examined);
    }
}
