//! Reads and writes the fields of W3C Trace Context: `traceparent` (section 3.2) and `tracestate`
//! (section 3.3). A field that breaks a rule is none, as section 4 demands.

use mehari_text::hex;
use std::fmt;

/// The longest `tracestate` in bytes that is passed on. The specification demands 512.
const LONGEST_STATE: usize = 4096;
/// The most members of a `tracestate`.
const MOST_MEMBERS: usize = 32;

/// The value of a field `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    pub trace: u128,
    /// The span of the sender.
    pub span: u64,
    /// The bits that version 00 defines: 1 (sampled), and 2 (the trace's number is random).
    pub flags: u8,
}

impl TraceParent {
    pub const SAMPLED: u8 = 1;
    /// Level 2 of the specification: the right 56 bits of the trace's number are random.
    pub const RANDOM: u8 = 2;

    /// Reads a value. A later version may have further parts behind the parts of version 00.
    pub fn parse(text: &[u8]) -> Option<TraceParent> {
        let (version, rest) = hex_part(text, 2)?;
        let (trace, rest) = hex_part(dash(rest)?, 32)?;
        let (span, rest) = hex_part(dash(rest)?, 16)?;
        let (flags, rest) = hex_part(dash(rest)?, 2)?;
        let ends = match version {
            0xff => false,
            0 => rest.is_empty(),
            _ => rest.is_empty() || rest.starts_with(b"-"),
        };
        let parent = TraceParent {
            trace,
            span: u64::try_from(span).ok()?,
            flags: u8::try_from(flags).ok()? & (TraceParent::SAMPLED | TraceParent::RANDOM),
        };
        (ends && trace != 0 && span != 0).then_some(parent)
    }

    pub fn is_sampled(self) -> bool {
        self.flags & TraceParent::SAMPLED != 0
    }
}

/// Writes the value of version 00.
impl fmt::Display for TraceParent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const EMPTY: &str = "00-00000000000000000000000000000000-0000000000000000-00";
        // Formatting each number would take ten times as long.
        let mut text = *EMPTY.as_bytes().first_chunk::<55>().expect("its length");
        text[3..19].copy_from_slice(&hex::sixteen_lower((self.trace >> 64) as u64));
        text[19..35].copy_from_slice(&hex::sixteen_lower(self.trace as u64));
        text[36..52].copy_from_slice(&hex::sixteen_lower(self.span));
        text[53..55].copy_from_slice(&hex::sixteen_lower(self.flags.into())[14..]);
        out.write_str(std::str::from_utf8(&text).unwrap_or(EMPTY))
    }
}

/// Reads so many lower-case hexadecimal digits. Returns the number and the rest.
fn hex_part(text: &[u8], digits: usize) -> Option<(u128, &[u8])> {
    let (part, rest) = text.split_at_checked(digits)?;
    let mut number = 0;
    for byte in part {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        number = number << 4 | u128::from(digit);
    }
    Some((number, rest))
}

fn dash(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"-")
}

/// Joins the values of the fields `tracestate`. `None`: there is none, or a member breaks a rule.
pub fn trace_state<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<String> {
    let mut keys: Vec<&[u8]> = Vec::new();
    let mut joined = String::new();
    for member in values.flat_map(|value| value.split(|byte| *byte == b',')) {
        let member = member.trim_ascii();
        if member.is_empty() {
            continue;
        }
        let equals = member.iter().position(|byte| *byte == b'=')?;
        let (key, value) = (&member[..equals], &member[equals + 1..]);
        if !is_key(key) || !is_value(value) || keys.contains(&key) || keys.len() == MOST_MEMBERS {
            return None;
        }
        keys.push(key);
        if !joined.is_empty() {
            joined.push(',');
        }
        joined.push_str(std::str::from_utf8(member).ok()?);
        if joined.len() > LONGEST_STATE {
            return None;
        }
    }
    (!joined.is_empty()).then_some(joined)
}

/// Whether this is a key: of a system alone, or of a tenant and a system.
fn is_key(key: &[u8]) -> bool {
    let is_rest =
        |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/".contains(byte);
    let is_part = |part: &[u8], most: usize, may_begin_with_digit: bool| match part.split_first() {
        Some((first, rest)) => {
            let begins =
                first.is_ascii_lowercase() || may_begin_with_digit && first.is_ascii_digit();
            begins && part.len() <= most && rest.iter().all(is_rest)
        }
        None => false,
    };
    match key.iter().position(|byte| *byte == b'@') {
        None => is_part(key, 256, false),
        Some(at) => is_part(&key[..at], 241, true) && is_part(&key[at + 1..], 14, false),
    }
}

/// Whether this is a value: up to 256 printable characters without `,` and `=`, and no space last.
fn is_value(value: &[u8]) -> bool {
    let is_char = |byte: &u8| matches!(byte, b' '..=b'~') && !b",=".contains(byte);
    !value.is_empty() && value.len() <= 256 && value.iter().all(is_char) && !value.ends_with(b" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn parent_is_written_as_it_was_read() {
        let parent = TraceParent::parse(GOOD.as_bytes()).expect("a good one");
        assert_eq!(parent.to_string(), GOOD);
        assert!(parent.is_sampled());
        let later = format!("cc{}-what-comes", &GOOD[2..]);
        assert_eq!(TraceParent::parse(later.as_bytes()), Some(parent));
        let later = format!("cc{}", &GOOD[2..]);
        assert_eq!(TraceParent::parse(later.as_bytes()), Some(parent));
        let unknown_flags = format!("{}fe", &GOOD[..53]);
        let parent = TraceParent::parse(unknown_flags.as_bytes()).expect("a good one");
        assert_eq!((parent.is_sampled(), parent.flags), (false, 2));
    }

    #[test]
    fn parents_that_break_a_rule_are_none() {
        for text in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
            "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
            " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01",
            "+0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(TraceParent::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn states_of_several_fields_are_joined_and_broken_ones_are_none() {
        let joined = |values: &[&str]| trace_state(values.iter().map(|value| value.as_bytes()));
        let long = format!("a={}", "x".repeat(256));
        let many: String = (0..32).map(|number| format!("k{number}=v,")).collect();
        let huge: Vec<String> = (0..20)
            .map(|n| format!("k{n}={}", "x".repeat(250)))
            .collect();
        for (values, expected) in [
            (&["a=1,b=2"][..], Some("a=1,b=2")),
            (&["a=1 , ,", "9t@b-c/*_=x y~"], Some("a=1,9t@b-c/*_=x y~")),
            (&[&long], Some(&*long)),
            (&[&many], Some(many.trim_end_matches(','))),
            (&[""], None),
            (&[], None),
            (&["a"], None),
            (&["a="], None),
            (&["A=1"], None),
            (&["9=1"], None),
            (&["@b=1"], None),
            (&["a@=1"], None),
            (&["a@9=1"], None),
            (&["a=1=2"], None),
            (&["a=\u{e9}"], None),
            (&["a=1\tb"], None),
            (&["a=1", "a=2"], None),
            (&[&format!("{long}x")], None),
            (&[&format!("{many}one=more")], None),
            (&[&huge.join(",")], None),
        ] {
            assert_eq!(joined(values).as_deref(), expected, "{values:?}");
        }
    }
}
