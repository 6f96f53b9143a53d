//! Escapes bytes from clients and programs, so that the bytes stay inside their field and on their
//! line.

use crate::bytes::{all, leading};
use mehari_text::hex;

/// Escapes like Apache's `ap_escape_logitem`: a backslash before `"` and `\`, C's names for the
/// common controls, and `\xhh` for all other bytes outside printable ASCII.
pub fn log_item(into: &mut Vec<u8>, bytes: &[u8]) {
    if all(bytes, plain) {
        return into.extend_from_slice(bytes);
    }
    escape_item(into, bytes);
}

/// Escapes the rest of an item. This rare path is a separate function, so that the common path
/// stays short.
#[cold]
fn escape_item(into: &mut Vec<u8>, bytes: &[u8]) {
    each_run(into, bytes, |into, rest| {
        match rest[0] {
            quote @ (b'"' | b'\\') => into.extend_from_slice(&[b'\\', quote]),
            other => control(into, other),
        }
        1
    });
}

/// Escapes a message for the error log. Like in Apache's `ap_escape_errorlog_item`, `"` stays as it
/// is. Well-formed UTF-8 stays readable, except control characters.
pub fn message(into: &mut Vec<u8>, bytes: &[u8]) {
    each_run(into, bytes, |into, rest| match rest[0] {
        b'"' => {
            into.push(b'"');
            1
        }
        b'\\' => {
            into.extend_from_slice(b"\\\\");
            1
        }
        byte => match character(rest) {
            Some(length) => {
                into.extend_from_slice(&rest[..length]);
                length
            }
            None => {
                control(into, byte);
                1
            }
        },
    });
}

/// Appends a JSON string (RFC 8259 section 7) with its quotes. Bytes outside UTF-8 become the text
/// `\xhh`.
pub fn json_string(into: &mut Vec<u8>, bytes: &[u8]) {
    into.push(b'"');
    if all(bytes, plain) {
        into.extend_from_slice(bytes)
    } else {
        escape_json(into, bytes)
    }
    into.push(b'"');
}

/// Escapes the rest of a JSON string.
#[cold]
fn escape_json(into: &mut Vec<u8>, bytes: &[u8]) {
    each_run(into, bytes, |into, rest| match rest[0] {
        quote @ (b'"' | b'\\') => {
            into.extend_from_slice(&[b'\\', quote]);
            1
        }
        byte @ (0..=0x1f | 0x7f) => {
            into.extend_from_slice(b"\\u00");
            hex::push_lower(byte, into);
            1
        }
        byte => match character(rest) {
            Some(length) => {
                into.extend_from_slice(&rest[..length]);
                length
            }
            None => {
                into.extend_from_slice(b"\\\\x");
                hex::push_lower(byte, into);
                1
            }
        },
    });
}

/// A number in decimal digits, made without a formatter and without the heap.
pub struct Decimal {
    digits: [u8; 20],
    first: usize,
}

impl Decimal {
    #[inline]
    pub fn new(mut number: u64) -> Decimal {
        let mut digits = [0; 20];
        let mut first = digits.len();
        while number >= 10 {
            first -= 2;
            let pair = &PAIRS[(number % 100) as usize];
            digits[first..first + 2].copy_from_slice(pair);
            number /= 100;
        }
        if number > 0 || first == digits.len() {
            first -= 1;
            digits[first] = b'0' + number as u8;
        }
        Decimal { digits, first }
    }

    #[inline]
    pub fn text(&self) -> &[u8] {
        &self.digits[self.first..]
    }
}

/// The digits of `00` to `99`.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Appends `number` in decimal digits.
pub fn decimal(into: &mut Vec<u8>, number: u64) {
    into.extend_from_slice(Decimal::new(number).text());
}

/// Appends an HTTP status, which has three digits.
pub fn status(into: &mut Vec<u8>, status: u16) {
    let [tens, ones] = PAIRS[usize::from(status % 100)];
    match status {
        100..=999 => into.extend_from_slice(&[b'0' + (status / 100) as u8, tens, ones]),
        _ => decimal(into, u64::from(status)),
    }
}

/// Appends `number` with leading zeros in `width` digits. Higher digits are dropped.
pub fn padded(into: &mut Vec<u8>, mut number: u32, width: usize) {
    let start = into.len();
    into.resize(start + width, b'0');
    for digit in into[start..].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Copies runs of plain bytes whole. `special` writes the escaped form of the first byte or
/// character behind the run and returns its length in `bytes`.
fn each_run(into: &mut Vec<u8>, mut bytes: &[u8], special: fn(&mut Vec<u8>, &[u8]) -> usize) {
    loop {
        let run = leading(bytes, |byte| PLAIN[usize::from(byte)]);
        into.extend_from_slice(&bytes[..run]);
        bytes = &bytes[run..];
        if bytes.is_empty() {
            return;
        }
        let done = special(into, bytes);
        bytes = &bytes[done..];
    }
}

/// Returns whether the byte is printable ASCII and needs no escape in any format.
const fn plain(byte: u8) -> bool {
    byte >= b' ' && byte <= b'~' && byte != b'"' && byte != b'\\'
}

/// The results of [`plain`] as a table. One look into the table costs less than the comparisons.
const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = plain(byte as u8);
        byte += 1;
    }
    table
};

fn control(into: &mut Vec<u8>, byte: u8) {
    let name = match byte {
        0x08 => b'b',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x0b => b'v',
        _ => {
            into.extend_from_slice(b"\\x");
            hex::push_lower(byte, into);
            return;
        }
    };
    into.extend_from_slice(&[b'\\', name]);
}

/// Returns the length of the well-formed multi-byte character at the start of `bytes`. Returns
/// `None` for control characters (C1) and malformed bytes.
fn character(bytes: &[u8]) -> Option<usize> {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let text = std::str::from_utf8(bytes.get(..length)?).ok()?;
    text.chars().all(|c| !c.is_control()).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(escape: fn(&mut Vec<u8>, &[u8]), bytes: &[u8]) -> String {
        let mut text = Vec::new();
        escape(&mut text, bytes);
        String::from_utf8(text).expect("escaped text is UTF-8 here")
    }

    #[test]
    fn log_item_escapes_every_byte_as_apache_does() {
        for byte in 0..=255u8 {
            let expected = match byte {
                b'"' => "\\\"".to_string(),
                b'\\' => "\\\\".to_string(),
                8 => "\\b".to_string(),
                9 => "\\t".to_string(),
                10 => "\\n".to_string(),
                11 => "\\v".to_string(),
                13 => "\\r".to_string(),
                32..=126 => char::from(byte).to_string(),
                other => format!("\\x{other:02x}"),
            };
            assert_eq!(with(log_item, &[b'a', byte, b'z']), format!("a{expected}z"));
        }
    }

    #[test]
    fn json_string_of_any_bytes_is_json_and_keeps_utf8() {
        for byte in 0..=255u8 {
            let text = with(json_string, &[b'a', byte, b'"', b'\\', b'\n']);
            let back: String = serde_json::from_str(&text).expect("valid JSON");
            assert!(back.ends_with("\"\\\n"), "{text}");
        }
        assert_eq!(with(json_string, "méhari €".as_bytes()), "\"méhari €\"");
        assert_eq!(with(json_string, b"\xc3("), "\"\\\\xc3(\"");
        assert_eq!(with(json_string, b"\xe2\x82"), "\"\\\\xe2\\\\x82\"");
    }

    #[test]
    fn message_stays_on_one_line_and_readable() {
        assert_eq!(
            with(message, "a \"b\"\n\tc\\d é\u{9b}\x1b[0m\u{0}".as_bytes()),
            "a \"b\"\\n\\tc\\\\d é\\xc2\\x9b\\x1b[0m\\x00"
        );
    }

    #[test]
    fn numbers_are_written_as_fmt_writes_them() {
        for number in [0, 7, 10, 99, 1_000_000, u64::MAX] {
            let mut text = Vec::new();
            decimal(&mut text, number);
            assert_eq!(text, number.to_string().into_bytes());
        }
        for number in [0, 99, 100, 206, 999, 1000] {
            let mut text = Vec::new();
            status(&mut text, number);
            assert_eq!(text, number.to_string().into_bytes());
        }
        let mut text = Vec::new();
        padded(&mut text, 42, 6);
        assert_eq!(text, b"000042");
    }
}
