//! Finds header fields in the front's two forms: pairs of a request, lines of a response.

pub type Field<'a> = (&'a [u8], &'a [u8]);

/// Iterates over the fields of a block of lines. Each line has the form `Name: value\r\n`.
pub fn fields(lines: &[u8]) -> impl Iterator<Item = Field<'_>> + Clone {
    lines.split(|byte| *byte == b'\n').filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

/// Iterates over the values of all fields of this name.
pub fn values<'a>(
    fields: impl Iterator<Item = Field<'a>>,
    name: &'a str,
) -> impl Iterator<Item = &'a [u8]> {
    fields
        .filter(move |(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
        .map(|(_, value)| value)
}

/// Returns the value of the first field of this name in a block of lines.
pub fn field<'a>(lines: &'a [u8], name: &'a str) -> Option<&'a [u8]> {
    values(fields(lines), name).next()
}

/// Returns the value of the first field of this name in a request.
pub fn find<'a>(asked: &[Field<'a>], name: &str) -> Option<&'a [u8]> {
    let mut known = asked.iter();
    let found = known.find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
    found.map(|(_, value)| *value)
}
