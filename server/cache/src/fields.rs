//! Header fields in the front's two forms: pairs of a request, lines of a response.

pub type Field<'a> = (&'a [u8], &'a [u8]);

/// The fields of a block of lines, each `Name: value\r\n`.
pub fn fields(lines: &[u8]) -> impl Iterator<Item = Field<'_>> + Clone {
    lines.split(|byte| *byte == b'\n').filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

/// The values of all fields of a name.
pub fn values<'a>(
    fields: impl Iterator<Item = Field<'a>>,
    name: &'a str,
) -> impl Iterator<Item = &'a [u8]> {
    fields
        .filter(move |(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
        .map(|(_, value)| value)
}

/// The value of the first field of a name in a block of lines.
pub fn field<'a>(lines: &'a [u8], name: &'a str) -> Option<&'a [u8]> {
    values(fields(lines), name).next()
}

/// The value of the first field of a name in a request.
pub fn find<'a>(asked: &[Field<'a>], name: &str) -> Option<&'a [u8]> {
    let mut known = asked.iter();
    let found = known.find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
    found.map(|(_, value)| *value)
}
