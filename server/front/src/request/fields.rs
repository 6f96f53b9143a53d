//! Gives access to the field lines of a request, in order of arrival, wherever they lie in memory.
//!
//! A codec makes a [`Fields`] that says where the fields of the head are. To look at a field,
//! nothing is copied.

use super::Table;
use http::header::{self, HeaderMap, HeaderName, HeaderValue, COOKIE, HOST};
use mehari_http::http1::head::Span;
use mehari_http::name_lengths::NameLengths;
use mehari_http::Field;
use std::borrow::Cow;

/// The fields of one request.
#[derive(Debug, Clone, Copy)]
pub enum Fields<'a> {
    /// An HTTP/1 head: places in the connection's buffer.
    Spans {
        bytes: &'a [u8],
        spans: &'a [(Span, Span)],
        name_lengths: NameLengths,
    },
    /// An HTTP/2 head.
    Map(MapFields<'a>),
    List(&'a [Field<'a>]),
    Owned(&'a [(Vec<u8>, Vec<u8>)]),
}

/// The fields of an HTTP/2 head. Host and Cookie come first, and their values stand here: the host
/// may come from `:authority`, and the cookie may have come in pieces. An empty value means that
/// there is no such field.
#[derive(Debug, Clone, Copy)]
pub struct MapFields<'a> {
    pub host: &'a [u8],
    pub cookie: &'a [u8],
    pub map: &'a HeaderMap,
}

impl<'a> Fields<'a> {
    pub const NONE: Fields<'static> = Fields::List(&[]);

    pub fn iter(self) -> Iter<'a> {
        match self {
            Fields::Spans { bytes, spans, .. } => Iter::Spans(bytes, spans.iter()),
            Fields::Map(fields) => Iter::Map(MapIter {
                first: [(b"host", fields.host), (b"cookie", fields.cookie)],
                at: 0,
                map: fields.map.iter(),
            }),
            Fields::List(list) => Iter::List(list.iter()),
            Fields::Owned(list) => Iter::Owned(list.iter()),
        }
    }

    /// Returns false if certainly no field has a name of one of these lengths.
    #[inline]
    pub fn may_have(self, lengths: NameLengths) -> bool {
        match self {
            Fields::Spans { name_lengths, .. } => name_lengths.meets(lengths),
            _ => true,
        }
    }

    /// Returns the value of the first field of this name.
    pub fn get(self, name: &str) -> Option<&'a [u8]> {
        if !self.may_have(NameLengths::of(&[name.len()])) {
            return None;
        }
        let is_it = |known: &[u8]| known.eq_ignore_ascii_case(name.as_bytes());
        match self {
            Fields::Spans { bytes, spans, .. } => {
                let found = spans
                    .iter()
                    .find(|(known, _)| known.length() == name.len() && is_it(known.of(bytes)));
                found.map(|(_, value)| value.of(bytes))
            }
            _ => {
                let found = self.iter().find(|(known, _)| is_it(known));
                found.map(|(_, value)| value)
            }
        }
    }

    /// Returns the values of all fields of this name, separated by commas, as in Apache's table.
    pub fn joined(self, name: &str) -> Option<Cow<'a, [u8]>> {
        let first = self.get(name)?;
        let is_it = |(known, _): &Field<'_>| known.eq_ignore_ascii_case(name.as_bytes());
        let others = self.iter().filter(is_it).skip(1);
        Some(others.fold(Cow::Borrowed(first), |mut all, (_, value)| {
            all.to_mut().extend_from_slice(b", ");
            all.to_mut().extend_from_slice(value);
            all
        }))
    }

    /// Returns the fields as a list, for callers that need one.
    pub fn table(self) -> Table<'a> {
        self.iter().collect()
    }

    /// Returns a copy that outlives the head.
    pub fn to_owned(self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let own = |(name, value): Field<'_>| (name.to_vec(), value.to_vec());
        self.iter().map(own).collect()
    }
}

impl<'a> IntoIterator for Fields<'a> {
    type Item = Field<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Iterates over [`Fields`].
pub enum Iter<'a> {
    Spans(&'a [u8], std::slice::Iter<'a, (Span, Span)>),
    Map(MapIter<'a>),
    List(std::slice::Iter<'a, Field<'a>>),
    Owned(std::slice::Iter<'a, (Vec<u8>, Vec<u8>)>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = Field<'a>;

    #[inline]
    fn next(&mut self) -> Option<Field<'a>> {
        match self {
            Iter::Spans(bytes, spans) => {
                let (name, value) = spans.next()?;
                Some((name.of(bytes), value.of(bytes)))
            }
            Iter::Map(fields) => fields.next(),
            Iter::List(list) => list.next().copied(),
            Iter::Owned(list) => list.next().map(|(name, value)| (&name[..], &value[..])),
        }
    }

    /// Visits all fields in one loop, which chooses the kind of [`Fields`] only once.
    #[inline]
    fn fold<B, F: FnMut(B, Field<'a>) -> B>(self, begin: B, each: F) -> B {
        match self {
            Iter::Spans(bytes, spans) => {
                let fields = spans.map(|(name, value)| (name.of(bytes), value.of(bytes)));
                fields.fold(begin, each)
            }
            Iter::Map(fields) => fields.fold(begin, each),
            Iter::List(list) => list.copied().fold(begin, each),
            Iter::Owned(list) => {
                let fields = list.map(|(name, value)| (&name[..], &value[..]));
                fields.fold(begin, each)
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Iter::Spans(_, spans) => spans.size_hint(),
            Iter::Map(fields) => (0, fields.map.size_hint().1.map(|most| most + 2)),
            Iter::List(list) => list.size_hint(),
            Iter::Owned(list) => list.size_hint(),
        }
    }
}

/// Iterates over [`MapFields`].
pub struct MapIter<'a> {
    first: [Field<'a>; 2],
    at: usize,
    map: header::Iter<'a, HeaderValue>,
}

impl<'a> Iterator for MapIter<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        while let Some(first) = self.first.get(self.at) {
            self.at += 1;
            if !first.1.is_empty() {
                return Some(*first);
            }
        }
        let is_other = |(name, _): &(&HeaderName, &HeaderValue)| **name != HOST && **name != COOKIE;
        let (name, value) = self.map.find(is_other)?;
        Some((name.as_str().as_bytes(), value.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_http2_begin_with_the_host_and_the_joined_cookie() {
        let mut map = HeaderMap::new();
        map.append("accept", HeaderValue::from_static("*/*"));
        map.append("cookie", HeaderValue::from_static("a=1"));
        map.append("host", HeaderValue::from_static("other"));
        map.append("cookie", HeaderValue::from_static("b=2"));
        map.append("accept", HeaderValue::from_static("text/html"));
        let fields = |host, cookie| {
            Fields::Map(MapFields {
                host,
                cookie,
                map: &map,
            })
        };
        let all: Vec<Field> = fields(b"example.org", b"a=1; b=2").iter().collect();
        let expected: [Field; 4] = [
            (b"host", b"example.org"),
            (b"cookie", b"a=1; b=2"),
            (b"accept", b"*/*"),
            (b"accept", b"text/html"),
        ];
        assert_eq!(all, expected);
        let without = fields(b"", b"");
        assert_eq!(without.iter().count(), 2);
        assert_eq!(without.get("Host"), None);
        assert_eq!(without.get("ACCEPT"), Some(&b"*/*"[..]));
    }
}
