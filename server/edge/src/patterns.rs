//! Matches Lua's patterns (reference manual 5.1 section 5.4.1) within a bounded number of steps.
//! LuaJIT's own matcher can take exponential time on a short text, and nothing can interrupt that
//! matcher.

mod class;

use std::ops::Range;

/// The largest number of captures and the deepest nesting in a pattern, as in Lua.
const CAPTURES: usize = 32;
const DEPTH: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The pattern is malformed. The text says why.
    Malformed(&'static str),
    /// The match took more steps than allowed.
    TooLong,
}

/// The value of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capture {
    Text {
        start: usize,
        end: usize,
    },
    /// The offset in the text that a `()` gives.
    Position(usize),
}

#[derive(Debug, PartialEq, Eq)]
pub struct Match {
    pub whole: Range<usize>,
    pub captures: Vec<Capture>,
}

/// Returns the first match at or after `from`. `steps` holds the steps that are left, and the
/// search reduces this number.
///
/// # Errors
///
/// A malformed pattern, or more steps than allowed.
pub fn find(
    text: &[u8],
    pattern: &[u8],
    from: usize,
    steps: &mut usize,
) -> Result<Option<Match>, Fault> {
    let (anchored, pattern) = match pattern.split_first() {
        Some((b'^', rest)) => (true, rest),
        _ => (false, pattern),
    };
    for start in from..=text.len() {
        let mut matcher = Matcher {
            text,
            pattern,
            steps,
            captures: Vec::new(),
            depth: 0,
        };
        if let Some(end) = matcher.match_at(start, 0)? {
            let captures = matcher.closed()?;
            return Ok(Some(Match {
                whole: start..end,
                captures,
            }));
        }
        if anchored {
            break;
        }
    }
    Ok(None)
}

#[derive(Clone, Copy)]
enum Open {
    /// The offset where the capture begins. Its end is not known yet.
    Begun(usize),
    Done(Capture),
}

struct Matcher<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    steps: &'a mut usize,
    captures: Vec<Open>,
    depth: usize,
}

type Matched = Result<Option<usize>, Fault>;

impl Matcher<'_> {
    /// Matches the rest of the pattern from `p` on against the text at `s`. Returns the end of the
    /// match.
    fn match_at(&mut self, s: usize, p: usize) -> Matched {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Fault::Malformed("pattern too complex"));
        }
        let matched = self.match_rest(s, p);
        self.depth -= 1;
        matched
    }

    fn match_rest(&mut self, mut s: usize, mut p: usize) -> Matched {
        loop {
            self.step()?;
            let Some(&byte) = self.pattern.get(p) else {
                return Ok(Some(s));
            };
            match (byte, self.pattern.get(p + 1)) {
                (b'(', Some(b')')) => {
                    return self.capture(Open::Done(Capture::Position(s)), s, p + 2)
                }
                (b'(', _) => return self.capture(Open::Begun(s), s, p + 1),
                (b')', _) => return self.close(s, p + 1),
                (b'$', None) => return Ok((s == self.text.len()).then_some(s)),
                (b'%', Some(b'b')) => match self.match_balanced(s, p + 2)? {
                    Some(end) => (s, p) = (end, p + 4),
                    None => return Ok(None),
                },
                (b'%', Some(b'f')) => match self.match_frontier(s, p + 2)? {
                    Some(next) => p = next,
                    None => return Ok(None),
                },
                (b'%', Some(digit @ b'0'..=b'9')) => match self.match_capture(s, *digit)? {
                    Some(end) => (s, p) = (end, p + 2),
                    None => return Ok(None),
                },
                _ => {
                    let next = self.class_end(p)?;
                    match self.pattern.get(next) {
                        Some(b'?') => {
                            if self.is_one(s, p, next) {
                                if let Some(end) = self.match_at(s + 1, next + 1)? {
                                    return Ok(Some(end));
                                }
                            }
                            p = next + 1;
                        }
                        Some(b'+') => {
                            return if self.is_one(s, p, next) {
                                self.most(s + 1, p, next)
                            } else {
                                Ok(None)
                            }
                        }
                        Some(b'*') => return self.most(s, p, next),
                        Some(b'-') => return self.least(s, p, next),
                        _ if self.is_one(s, p, next) => (s, p) = (s + 1, next),
                        _ => return Ok(None),
                    }
                }
            }
        }
    }

    fn step(&mut self) -> Result<(), Fault> {
        *self.steps = self.steps.checked_sub(1).ok_or(Fault::TooLong)?;
        Ok(())
    }

    /// Matches `*`: as many characters as possible, then fewer.
    fn most(&mut self, s: usize, p: usize, next: usize) -> Matched {
        let mut count = 0;
        while self.is_one(s + count, p, next) {
            self.step()?;
            count += 1;
        }
        loop {
            if let Some(end) = self.match_at(s + count, next + 1)? {
                return Ok(Some(end));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    /// Matches `-`: as few characters as possible.
    fn least(&mut self, mut s: usize, p: usize, next: usize) -> Matched {
        loop {
            if let Some(end) = self.match_at(s, next + 1)? {
                return Ok(Some(end));
            }
            if !self.is_one(s, p, next) {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn capture(&mut self, open: Open, s: usize, p: usize) -> Matched {
        if self.captures.len() >= CAPTURES {
            return Err(Fault::Malformed("too many captures"));
        }
        self.captures.push(open);
        let matched = self.match_at(s, p)?;
        if matched.is_none() {
            self.captures.pop();
        }
        Ok(matched)
    }

    fn close(&mut self, s: usize, p: usize) -> Matched {
        let begun = self
            .captures
            .iter()
            .rposition(|open| matches!(open, Open::Begun(_)));
        let at = begun.ok_or(Fault::Malformed("invalid pattern capture"))?;
        let before = self.captures[at];
        if let Open::Begun(start) = before {
            self.captures[at] = Open::Done(Capture::Text { start, end: s });
        }
        let matched = self.match_at(s, p)?;
        if matched.is_none() {
            self.captures[at] = before;
        }
        Ok(matched)
    }

    fn closed(&self) -> Result<Vec<Capture>, Fault> {
        let captures = self.captures.iter().map(|open| match open {
            Open::Done(capture) => Ok(*capture),
            Open::Begun(_) => Err(Fault::Malformed("unfinished capture")),
        });
        captures.collect()
    }

    /// Matches `%1` to `%9`: the text of an earlier capture.
    fn match_capture(&mut self, s: usize, digit: u8) -> Matched {
        let capture = digit
            .checked_sub(b'1')
            .and_then(|at| self.captures.get(usize::from(at)));
        let Some(Open::Done(Capture::Text { start, end })) = capture.copied() else {
            return Err(Fault::Malformed("invalid capture index"));
        };
        let behind = s + (end - start);
        let same = self.text.get(s..behind) == Some(&self.text[start..end]);
        Ok(same.then_some(behind))
    }

    /// Matches `%bxy`: balanced text.
    fn match_balanced(&mut self, s: usize, p: usize) -> Matched {
        let Some(&[open, close]) = self.pattern.get(p..p + 2) else {
            return Err(Fault::Malformed("unbalanced pattern"));
        };
        if self.text.get(s) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1;
        for at in s + 1..self.text.len() {
            self.step()?;
            let byte = self.text[at];
            if byte == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(at + 1));
                }
            } else if byte == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// Matches `%f[set]`: the rest of the pattern if the set begins at `s`.
    fn match_frontier(&mut self, s: usize, p: usize) -> Matched {
        if self.pattern.get(p) != Some(&b'[') {
            return Err(Fault::Malformed("missing '[' after '%f' in pattern"));
        }
        let next = self.class_end(p)?;
        let before = s.checked_sub(1).map_or(0, |at| self.text[at]);
        let here = self.text.get(s).copied().unwrap_or(0);
        let begins = !self.is_in_set(before, p, next) && self.is_in_set(here, p, next);
        Ok(begins.then_some(next))
    }
}
