//! The variables of a page: the variables that programs get, the variables that describe the
//! document, and the variables that `set` has set.

use crate::request::variables::ExpressionVariables;
use mehari_config::{Piece, VariableSource};
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

/// The most bytes of all variables together, and the most bytes of an expanded text.
const MOST: usize = 1 << 20;
/// The variables whose values depend on the date format. As in Apache, programs see them empty.
pub const DATES: [&[u8]; 3] = [b"DATE_GMT", b"DATE_LOCAL", b"LAST_MODIFIED"];

/// The error for a variable or a text that would exceed the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a text, and variables, of {MOST} bytes at most")]
pub struct TooLong;

/// As in Apache, the case of letters in names does not count.
#[derive(Default)]
pub struct Variables {
    /// The names as first given and the values, by the names in upper case.
    known: BTreeMap<Vec<u8>, (Vec<u8>, Vec<u8>)>,
    size: usize,
    /// The names, in upper case, of the variables that included programs get in addition to the
    /// request's variables.
    own: BTreeSet<Vec<u8>>,
    /// The names of those of them that were set since [`Variables::take_changed`].
    changed: BTreeSet<Vec<u8>>,
    pub modified: Option<SystemTime>,
}

impl Variables {
    pub fn put(&mut self, name: &[u8], value: &[u8]) -> Result<(), TooLong> {
        let key = name.to_ascii_uppercase();
        let before = self.known.get(&key);
        let shown = before.map_or(name, |(name, _)| name).to_vec();
        let before = before.map(|(_, value)| name.len() + value.len());
        let size = self.size - before.unwrap_or(0) + name.len() + value.len();
        if size > MOST {
            return Err(TooLong);
        }
        self.size = size;
        self.known.insert(key, (shown, value.to_vec()));
        Ok(())
    }

    /// Sets a variable that included programs see too.
    pub fn set(&mut self, name: &[u8], value: &[u8]) -> Result<(), TooLong> {
        self.put(name, value)?;
        self.own.insert(name.to_ascii_uppercase());
        self.changed.insert(name.to_ascii_uppercase());
        Ok(())
    }

    pub fn forget(&mut self, name: &[u8]) {
        if let Some((_, value)) = self.known.remove(&name.to_ascii_uppercase()) {
            self.size -= name.len() + value.len();
        }
    }

    /// Calls `take` with each variable that was set since the last call.
    pub fn take_changed(&mut self, mut take: impl FnMut(&[u8], &[u8])) {
        for name in std::mem::take(&mut self.changed) {
            if let Some((name, value)) = self.known.get(&name) {
                take(name, value);
            }
        }
    }

    pub fn own(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let known = |name: &Vec<u8>| self.known.get(name);
        self.own
            .iter()
            .filter_map(known)
            .map(|(name, value)| (&name[..], &value[..]))
    }

    /// Returns the value of a variable. `format`: the current date format.
    pub fn value(&self, name: &[u8], format: &str) -> Option<Vec<u8>> {
        let now = SystemTime::now();
        let key = name.to_ascii_uppercase();
        let known = self.known.get(&key).map(|(_, value)| value.clone());
        // A page may set these variables too.
        if known.as_ref().is_some_and(|value| !value.is_empty()) {
            return known;
        }
        match &key[..] {
            b"DATE_LOCAL" => Some(mehari_observe::local_time(now, format)),
            b"DATE_GMT" => Some(mehari_observe::universal_time(now, format)),
            b"LAST_MODIFIED" => Some(mehari_observe::local_time(self.modified?, format)),
            _ => known,
        }
    }

    pub fn all(&self, format: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
        let dates = DATES
            .into_iter()
            .filter_map(|name| Some((name.to_vec(), self.value(name, format)?)));
        let known = self.known.iter();
        let known = known.filter(|(key, _)| !DATES.contains(&&key[..]));
        let known = known.map(|(_, variable)| variable.clone());
        dates.chain(known).collect()
    }

    /// Expands `$NAME` and `${NAME}` in a text. `\$` stands for a dollar sign.
    pub fn put_in(&self, text: &[u8], format: &str) -> Result<Vec<u8>, TooLong> {
        let mut whole = Vec::with_capacity(text.len().min(MOST));
        let mut rest = text;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'$' | b'\\')) {
            whole.extend_from_slice(&rest[..at]);
            let (mark, behind) = (rest[at], &rest[at + 1..]);
            if mark == b'\\' {
                let dollar = behind.first() == Some(&b'$');
                whole.push(if dollar { b'$' } else { b'\\' });
                rest = &behind[usize::from(dollar)..];
                continue;
            }
            let (name, taken) = name(behind);
            if taken == 0 {
                whole.push(b'$');
            }
            whole.extend(self.value(name, format).unwrap_or_default());
            rest = &behind[taken..];
            if whole.len() > MOST {
                return Err(TooLong);
            }
        }
        whole.extend_from_slice(rest);
        Ok(whole)
    }
}

/// Returns the name at the start of a text, and the length of the name including any braces.
fn name(text: &[u8]) -> (&[u8], usize) {
    let fits = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    match text.strip_prefix(b"{") {
        Some(inner) => match memchr::memchr(b'}', inner) {
            Some(end) => (&inner[..end], end + 2),
            None => (&[], 0),
        },
        None => {
            let length = text.iter().take_while(fits).count();
            (&text[..length], length)
        }
    }
}

/// The values for expressions: the page's variables and the request's values.
pub struct PageValues<'a> {
    pub variables: &'a Variables,
    pub format: &'a str,
    pub request: ExpressionVariables<'a>,
}

impl VariableSource for PageValues<'_> {
    fn put(&self, piece: &Piece, into: &mut Vec<u8>) {
        match piece {
            Piece::Environment(name) => {
                into.extend(
                    self.variables
                        .value(name.as_bytes(), self.format)
                        .unwrap_or_default(),
                );
            }
            Piece::Call(function, text) => into.extend(function.apply(&text.of(self))),
            other => self.request.put(other, into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_by_what_they_stand_for() {
        let mut variables = Variables::default();
        variables.set(b"A", b"one").expect("short");
        variables.put(b"B_2", b"two").expect("short");
        for (text, expected) in [
            ("$A-$B_2", "one-two"),
            ("${A}b", "oneb"),
            ("$Ab", ""),
            ("\\$A", "$A"),
            ("a\\b", "a\\b"),
            ("5$ $", "5$ $"),
            ("${A", "${A"),
        ] {
            let found = variables.put_in(text.as_bytes(), "%Y").expect("short");
            assert_eq!(String::from_utf8_lossy(&found), expected, "{text}");
        }
        assert_eq!(
            variables.own().collect::<Vec<_>>(),
            [(&b"A"[..], &b"one"[..])]
        );
    }

    #[test]
    fn variables_stay_within_their_bounds() {
        let mut variables = Variables::default();
        let half = vec![b'x'; MOST / 2];
        for _ in 0..3 {
            // A variable that gets the same value again needs no more memory.
            variables.set(b"A", &half).expect("fits");
        }
        assert_eq!(variables.put(b"B", &half), Err(TooLong));
        assert_eq!(variables.put_in(b"$A$A$A", "%Y"), Err(TooLong));
        assert_eq!(
            variables.put_in(b"$A", "%Y").map(|text| text.len()),
            Ok(MOST / 2)
        );
    }
}
