//! `RewriteRule` and `RewriteCond`: their contents and the parsing of their arguments.
//!
//! The front runs the rules (`front::rewriting`). In a server or virtual host, rules are matched
//! with the URL path. In a `<Directory>` or .htaccess file, rules are matched with the part of the
//! path behind the folder.

use crate::{Pattern, Piece, Text};

mod condition;
mod flags;
mod map;

pub use condition::{Check, RewriteCondition};
pub(crate) use flags::Wishes;
pub use flags::{Escape, Flags, Forced};
pub use map::RewriteMap;

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RewriteRule {
    pub conditions: Vec<RewriteCondition>,
    pub pattern: Pattern,
    pub negated: bool,
    /// The text that replaces the path. `None`: the text is `-`, so the path does not change.
    pub substitution: Option<Text>,
    /// `[P]`: the back end that gets the request.
    pub back_end: Option<BackEndStart>,
    pub flags: Flags,
}

impl RewriteRule {
    /// Parses the arguments of `RewriteRule`. An error gives the index of the wrong word and the
    /// reason.
    pub(crate) fn parse(
        words: &[&str],
        conditions: Vec<RewriteCondition>,
    ) -> Result<(RewriteRule, Wishes), (usize, String)> {
        let (flags, wishes) = match words.get(2) {
            Some(list) => Flags::read(list).map_err(|why| (2, why))?,
            None => Default::default(),
        };
        let (negated, pattern) = match words[0].strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, words[0]),
        };
        let rule = RewriteRule {
            conditions,
            pattern: compiled(pattern, wishes.caseless).map_err(|why| (0, why))?,
            negated,
            substitution: match words[1] {
                "-" => None,
                text => Some(Text::rewriting(text).map_err(|why| (1, why))?),
            },
            back_end: None,
            flags,
        };
        Ok((rule, wishes))
    }

    /// Returns the scheme and the host of the substitution. `None`: they are not literal, so a
    /// client could choose them.
    pub(crate) fn fixed_origin(&self) -> Option<&str> {
        let pieces = self.substitution.as_ref()?.pieces();
        let Some(Piece::Literal(start)) = pieces.first() else {
            return None;
        };
        let start = std::str::from_utf8(start).ok()?;
        // The path of a Unix socket precedes its `|`.
        let url = start.rfind('|').map_or(0, |at| at + 1);
        let host = url + start[url..].find("://")? + 3;
        match start[host..].find('/') {
            Some(slash) => Some(&start[..host + slash]),
            None => (pieces.len() == 1).then_some(start),
        }
    }
}

/// The back end of a rule with `[P]`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BackEndStart {
    /// The name of the back end's [`crate::Upstream`].
    pub upstream: String,
    /// The length of the beginning of the substitution that names the back end, in bytes. The path
    /// on the back end follows this beginning.
    pub length: usize,
}

fn compiled(pattern: &str, caseless: bool) -> Result<Pattern, String> {
    let compiled = if caseless {
        Pattern::caseless(pattern)
    } else {
        Pattern::new(pattern)
    };
    compiled.map_err(|why| format!("expected a regular expression ({why}), not `{pattern}`"))
}
