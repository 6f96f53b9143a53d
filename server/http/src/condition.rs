//! Evaluates conditional requests in the order of RFC 9110 section 13.2.2.

use crate::name_lengths::NameLengths;
use crate::range::{self, Range};
use crate::Field;
use mehari_config::RangeLimits;
use std::borrow::Cow;
use std::time::SystemTime;

/// The fields of a request that ask for less than the whole file. Fields of one name count as one
/// list (RFC 9110 section 5.3). Two ranges or two dates are therefore invalid and ignored, as in
/// Apache. `None`: the request has no such field, like most requests.
#[derive(Debug, Default)]
pub struct Conditions<'a>(Option<Box<ConditionFields<'a>>>);

#[derive(Debug, Default)]
struct ConditionFields<'a> {
    if_match: Option<Cow<'a, [u8]>>,
    if_none_match: Option<Cow<'a, [u8]>>,
    if_modified_since: Option<Cow<'a, [u8]>>,
    if_unmodified_since: Option<Cow<'a, [u8]>>,
    if_range: Option<Cow<'a, [u8]>>,
    range: Option<Cow<'a, [u8]>>,
}

/// Chooses one of the fields.
type FieldChoice<'a> = for<'f> fn(&'f mut ConditionFields<'a>) -> &'f mut Option<Cow<'a, [u8]>>;

/// The representation to which the conditions apply (RFC 9110 section 3.2).
pub struct Representation<'a> {
    pub etag: &'a [u8],
    pub modified: SystemTime,
    /// The size in bytes.
    pub size: u64,
}

/// The answer to a request with conditions.
pub enum Verdict {
    /// The answer is 412.
    Failed,
    /// The answer is 304.
    Unchanged,
    Whole,
    /// The answer is 206 with these ranges, or 416 if there are none.
    Ranges(Vec<Range>),
}

impl<'a> Conditions<'a> {
    /// The lengths of the names of the fields. A request without such names has no conditions.
    pub const NAME_LENGTHS: NameLengths = NameLengths::of(&[5, 8, 13, 17, 19]);

    pub fn of(method: &[u8], fields: impl Iterator<Item = Field<'a>>) -> Conditions<'a> {
        let mut conditions = Conditions::default();
        fields.for_each(|(name, value)| {
            if NameLengths::of(&[name.len()]).meets(Conditions::NAME_LENGTHS) {
                conditions.note(name, value);
            }
        });
        if let Some(fields) = &mut conditions.0 {
            fields.keep_those_for(method);
        }
        conditions
    }

    /// Notes a field if it is a condition. The function is not inlined, so that the loop over the
    /// fields of a request without conditions stays small.
    #[inline(never)]
    fn note(&mut self, name: &[u8], value: &'a [u8]) {
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        let place: FieldChoice<'a> = match name.len() {
            5 if is(b"range") => |fields| &mut fields.range,
            8 if is(b"if-match") => |fields| &mut fields.if_match,
            8 if is(b"if-range") => |fields| &mut fields.if_range,
            13 if is(b"if-none-match") => |fields| &mut fields.if_none_match,
            17 if is(b"if-modified-since") => |fields| &mut fields.if_modified_since,
            19 if is(b"if-unmodified-since") => |fields| &mut fields.if_unmodified_since,
            _ => return,
        };
        let place = place(self.0.get_or_insert_default());
        *place = Some(match place.take() {
            Some(before) => Cow::Owned([&before, &b", "[..], value].concat()),
            None => Cow::Borrowed(value),
        });
    }

    /// Returns only the conditions about ranges.
    pub fn about_ranges(self) -> Conditions<'a> {
        let only = |fields: Box<ConditionFields<'a>>| {
            Box::new(ConditionFields {
                if_range: fields.if_range,
                range: fields.range,
                ..ConditionFields::default()
            })
        };
        Conditions(self.0.map(only))
    }

    /// Returns 412 or 304 if the conditions demand it for this tag and date.
    pub fn precondition(&self, etag: &[u8], modified: Option<SystemTime>) -> Option<u16> {
        self.0.as_ref()?.precondition(etag, modified)
    }

    /// Returns whether the client has the version with this tag and date.
    pub fn is_known(&self, etag: &[u8], modified: Option<SystemTime>) -> bool {
        let fields = self.0.as_ref();
        fields.is_some_and(|fields| fields.is_known(etag, modified))
    }

    /// Evaluates the conditions for a representation. Ranges beyond `limits` are ignored.
    pub fn verdict(&self, representation: &Representation<'_>, limits: RangeLimits) -> Verdict {
        match &self.0 {
            None => Verdict::Whole,
            Some(fields) => fields.verdict(representation, limits),
        }
    }

    pub fn asks_for_parts(&self) -> bool {
        self.0.as_ref().is_some_and(|fields| fields.range.is_some())
    }

    /// Returns the requested ranges for this tag, date and size, or `None` for the whole file.
    pub fn ranges(
        &self,
        etag: &[u8],
        modified: Option<SystemTime>,
        size: u64,
        limits: RangeLimits,
    ) -> Option<Vec<Range>> {
        self.0.as_ref()?.ranges(etag, modified, size, limits)
    }
}

impl ConditionFields<'_> {
    /// Drops the fields that this method does not have. As in Apache, HEAD has the fields of the
    /// range, and a POST to a file gets the range.
    fn keep_those_for(&mut self, method: &[u8]) {
        if !matches!(method, b"GET" | b"HEAD" | b"POST") {
            self.range = None;
        }
        if !matches!(method, b"GET" | b"HEAD") {
            self.if_modified_since = None;
        }
    }

    fn precondition(&self, etag: &[u8], modified: Option<SystemTime>) -> Option<u16> {
        let is_later = |date| modified.is_some_and(|modified| modified > date);
        let date_of = |field: &Option<Cow<[u8]>>| field.as_deref().and_then(date);
        match (&self.if_match, date_of(&self.if_unmodified_since)) {
            (Some(tags), _) if !lists(tags, etag, false) => return Some(412),
            (None, Some(date)) if is_later(date) => return Some(412),
            _ => {}
        }
        self.is_known(etag, modified).then_some(304)
    }

    fn is_known(&self, etag: &[u8], modified: Option<SystemTime>) -> bool {
        let since = self.if_modified_since.as_deref().and_then(date);
        match (&self.if_none_match, since, modified) {
            (Some(tags), ..) => lists(tags, etag, true),
            // As in Apache, a date in the future says nothing about the client's copy.
            (None, Some(since), Some(modified)) => modified <= since && since <= SystemTime::now(),
            _ => false,
        }
    }

    fn verdict(&self, representation: &Representation<'_>, limits: RangeLimits) -> Verdict {
        let Representation {
            etag,
            modified,
            size,
        } = *representation;
        let modified = Some(modified);
        match self.precondition(etag, modified) {
            Some(304) => return Verdict::Unchanged,
            Some(_) => return Verdict::Failed,
            None => {}
        }
        self.ranges(etag, modified, size, limits)
            .map_or(Verdict::Whole, Verdict::Ranges)
    }

    fn ranges(
        &self,
        etag: &[u8],
        modified: Option<SystemTime>,
        size: u64,
        limits: RangeLimits,
    ) -> Option<Vec<Range>> {
        let asked = self.range.as_deref()?;
        let is_wanted = self.range_is_wanted(etag, modified);
        is_wanted
            .then(|| range::parse(asked, size, limits))
            .flatten()
    }

    /// Returns whether If-Range allows a range. The field must have a strong validator or the exact
    /// date. Otherwise the whole file is sent.
    fn range_is_wanted(&self, etag: &[u8], modified: Option<SystemTime>) -> bool {
        match self.if_range.as_deref() {
            None => true,
            Some(tag) if tag.starts_with(b"\"") => tag == etag,
            Some(text) => modified.is_some() && date(text) == modified,
        }
    }
}

/// Returns whether a list of entity tags contains this tag. With `weakly` the prefix `W/` is
/// ignored. If the representation has no tag, only `*` matches.
fn lists(tags: &[u8], etag: &[u8], weakly: bool) -> bool {
    if tags.trim_ascii() == b"*" {
        return true;
    }
    let (own, own_is_weak) = opaque(etag);
    let mut tags = tags.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    tags.any(|tag| {
        let (asked, is_weak) = opaque(tag);
        let counts = weakly || !(is_weak || own_is_weak);
        counts && !own.is_empty() && asked == own
    })
}

/// Returns a tag without its `W/`, and whether the tag had this prefix.
fn opaque(tag: &[u8]) -> (&[u8], bool) {
    match tag.strip_prefix(b"W/") {
        Some(rest) => (rest, true),
        None => (tag, false),
    }
}

/// Reads a date in any of HTTP's three forms (RFC 9110 section 5.6.7).
pub fn date(text: &[u8]) -> Option<SystemTime> {
    httpdate::parse_http_date(std::str::from_utf8(text).ok()?).ok()
}
