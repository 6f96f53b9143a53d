//! Gives the time of day in the formats of the logs.
//!
//! strftime(3) or a library's formatter would write the whole text for each line. This clock keeps
//! the text of the current second and rewrites the microseconds only.
#![allow(unsafe_code)]

use crate::escape::{decimal, padded};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `21/Nov/2026:20:25:01 +0000`, local time.
    Combined,
    /// `2026-11-21T20:25:01.123456Z`, UTC.
    Rfc3339,
    /// `Sat Nov 21 20:25:01.123456 2026`, local time.
    ErrorLog,
    /// `20:25:01.123`, local time.
    Terminal,
}

/// Formats times in one style.
pub struct Clock {
    style: Style,
    /// `text` is right from the first of these times up to the second.
    second: (SystemTime, SystemTime),
    text: Vec<u8>,
    /// The position in `text` at which the digits of the fraction begin. `None` for a style without
    /// them.
    fraction: Option<usize>,
}

const DAYS: [&[u8; 3]; 7] = [b"Sun", b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat"];
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

impl Clock {
    pub fn new(style: Style) -> Clock {
        Clock {
            style,
            second: (UNIX_EPOCH, UNIX_EPOCH),
            text: Vec::with_capacity(40),
            fraction: None,
        }
    }

    pub fn text(&mut self, time: SystemTime) -> &[u8] {
        let (from, until) = self.second;
        if time < from || until <= time {
            let second = since_1970(time).as_secs();
            let from = UNIX_EPOCH + Duration::from_secs(second);
            self.second = (from, from + Duration::from_secs(1));
            self.write(second as i64);
        }
        if let Some(at) = self.fraction {
            let since = since_1970(time);
            let (mut fraction, digits) = match self.style {
                Style::Terminal => (since.subsec_millis(), 3),
                _ => (since.subsec_micros(), 6),
            };
            for digit in self.text[at..at + digits].iter_mut().rev() {
                *digit = b'0' + (fraction % 10) as u8;
                fraction /= 10;
            }
        }
        &self.text
    }

    fn write(&mut self, second: i64) {
        let parts = break_down(second, self.style != Style::Rfc3339);
        let text = &mut self.text;
        text.clear();
        match self.style {
            Style::Combined => {
                padded(text, parts.tm_mday as u32, 2);
                text.push(b'/');
                text.extend_from_slice(month(&parts));
                text.push(b'/');
                year(text, &parts);
                text.push(b':');
                time_of_day(text, &parts);
                text.push(b' ');
                offset(text, parts.tm_gmtoff);
            }
            Style::Rfc3339 => {
                year(text, &parts);
                text.push(b'-');
                padded(text, parts.tm_mon as u32 + 1, 2);
                text.push(b'-');
                padded(text, parts.tm_mday as u32, 2);
                text.push(b'T');
                time_of_day(text, &parts);
                self.fraction = Some(text.len() + 1);
                text.extend_from_slice(b".000000Z");
            }
            Style::ErrorLog => {
                text.extend_from_slice(DAYS[parts.tm_wday as usize % 7]);
                text.push(b' ');
                text.extend_from_slice(month(&parts));
                text.push(b' ');
                padded(text, parts.tm_mday as u32, 2);
                text.push(b' ');
                time_of_day(text, &parts);
                self.fraction = Some(text.len() + 1);
                text.extend_from_slice(b".000000 ");
                year(text, &parts);
            }
            Style::Terminal => {
                time_of_day(text, &parts);
                self.fraction = Some(text.len() + 1);
                text.extend_from_slice(b".000");
            }
        }
    }
}

/// Returns the duration since 1970. A time before 1970 comes from a broken clock and counts as
/// 1970.
fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Formats a local time with strftime(3). The result has at most 255 bytes.
pub fn formatted(time: SystemTime, format: &str) -> Vec<u8> {
    written(time, format, true)
}

/// Formats a universal time with strftime(3). The result has at most 255 bytes.
pub fn formatted_universal(time: SystemTime, format: &str) -> Vec<u8> {
    written(time, format, false)
}

fn written(time: SystemTime, format: &str, local: bool) -> Vec<u8> {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let parts = break_down(since.as_secs() as i64, local);
    let Ok(format) = std::ffi::CString::new(format) else {
        return Vec::new();
    };
    let mut text = vec![0u8; 256];
    // SAFETY: the buffer has the given length, the format ends in NUL, and `parts` is a whole `tm`.
    let length = unsafe {
        libc::strftime(
            text.as_mut_ptr().cast(),
            text.len(),
            format.as_ptr(),
            &parts,
        )
    };
    text.truncate(length);
    text
}

fn month(parts: &libc::tm) -> &'static [u8; 3] {
    MONTHS[parts.tm_mon as usize % 12]
}

fn year(text: &mut Vec<u8>, parts: &libc::tm) {
    decimal(text, (i64::from(parts.tm_year) + 1900).unsigned_abs());
}

fn time_of_day(text: &mut Vec<u8>, parts: &libc::tm) {
    padded(text, parts.tm_hour as u32, 2);
    text.push(b':');
    padded(text, parts.tm_min as u32, 2);
    text.push(b':');
    padded(text, parts.tm_sec as u32, 2);
}

/// Appends the offset from UTC as `+hhmm`.
fn offset(text: &mut Vec<u8>, seconds: libc::c_long) {
    text.push(if seconds < 0 { b'-' } else { b'+' });
    let minutes = (seconds.unsigned_abs() / 60) as u32;
    padded(text, minutes / 60 * 100 + minutes % 60, 4);
}

fn break_down(second: i64, local: bool) -> libc::tm {
    // SAFETY: both functions only read `second` and write the given `tm`, and a zeroed `tm` is
    // valid.
    unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        let second = second as libc::time_t;
        if local {
            libc::localtime_r(&second, &mut parts);
        } else {
            libc::gmtime_r(&second, &mut parts);
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(style: Style, at: Duration) -> String {
        let mut clock = Clock::new(style);
        // The first call caches the text of another second. The second call must not return that
        // text.
        clock.text(UNIX_EPOCH);
        String::from_utf8(clock.text(UNIX_EPOCH + at).to_vec()).expect("ASCII")
    }

    #[test]
    fn each_style_formats_a_time_as_its_log_does() {
        let at = Duration::new(1_795_292_701, 123_456_789);
        assert_eq!(utc(Style::Rfc3339, at), "2026-11-21T20:25:01.123456Z");
        let text = utc(Style::Combined, at);
        assert_eq!(text.len(), "21/Nov/2026:20:25:01 +0000".len());
        assert!(text.contains("/Nov/2026:"), "{text}");
        let text = utc(Style::ErrorLog, at);
        assert!(text.contains(":01.123456 2026"), "{text}");
        let text = utc(Style::Terminal, at);
        assert_eq!(text.len(), "20:25:01.123".len());
        assert!(text.ends_with(":01.123"), "{text}");
    }

    #[test]
    fn microseconds_change_within_a_second() {
        let mut clock = Clock::new(Style::Rfc3339);
        let at = UNIX_EPOCH + Duration::from_secs(5);
        clock.text(at + Duration::from_micros(999_999));
        assert_eq!(
            clock.text(at + Duration::from_micros(7)),
            b"1970-01-01T00:00:05.000007Z"
        );
    }

    #[test]
    fn an_offset_has_a_sign_hours_and_minutes() {
        for (seconds, expected) in [
            (0, "+0000"),
            (19_800, "+0530"),
            (-12_600, "-0330"),
            (50_400, "+1400"),
        ] {
            let mut text = Vec::new();
            offset(&mut text, seconds);
            assert_eq!(text, expected.as_bytes());
        }
    }
}
