//! Rules that depend on the request: variables, redirects, header rules, expiry.

mod expires;
mod place;

pub use expires::{Base, Expires, Expiry};
pub use place::{is_url, PlaceAlias, PlaceRedirect};

use crate::{Expression, Groups, Pattern, Text};

/// `SetEnvIf`, `BrowserMatch`, `SetEnvIfExpr`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct VariableRule {
    pub when: When,
    /// The variables with their values. `None`: the variable is removed.
    pub sets: Vec<(String, Option<Text>)>,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// The pattern matches the attribute with this name: a field of the request, `Remote_Addr`,
    /// `Request_URI` and the like, or a variable.
    Attribute(String, Pattern),
    /// The second pattern matches the last field of the request whose name the first one matches.
    FieldNamed(Pattern, Pattern),
    Expression(Expression),
}

/// `Redirect` and `RedirectMatch`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RedirectRule {
    pub status: u16,
    pub from: From,
    /// The target. `None`: the rule sends only a status (410, 404).
    pub to: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    /// A URL path and everything below it.
    Below(String),
    Match(Pattern),
}

/// What a rule may insert into its target: the rest of the path behind the rule's path, or the
/// groups of the match.
pub enum Rest<'p> {
    Behind(&'p [u8]),
    Groups(Box<Groups>),
}

impl RedirectRule {
    pub fn matches<'p>(&self, path: &'p [u8]) -> Option<Rest<'p>> {
        match &self.from {
            From::Match(pattern) => pattern.groups(path).map(Box::new).map(Rest::Groups),
            From::Below(prefix) => {
                let rest = path.strip_prefix(prefix.as_bytes())?;
                let whole = prefix.ends_with('/') || rest.is_empty() || rest.starts_with(b"/");
                whole.then_some(Rest::Behind(rest))
            }
        }
    }
}

/// `Header` and `RequestHeader`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct HeaderRule {
    /// `always`: the rule also changes the server's own error pages and redirects. Without
    /// `always`, the rule changes only responses of handlers.
    pub always: bool,
    pub action: HeaderAction,
    pub name: String,
    pub value: HeaderValue,
    pub condition: Condition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderAction {
    Set,
    SetIfEmpty,
    Append,
    Add,
    Merge,
    Unset,
    Edit,
    EditEvery,
    Echo,
    /// `note`: the value of the field becomes a note, which the rule's value names.
    Note,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderValue {
    None,
    Text(Text),
    /// `edit`: the pattern and its replacement.
    Edit(Pattern, Text),
    /// `AuthBasicFake`: a user and a password.
    Basic(Text, Text),
    /// `echo`: the pattern of the names of request fields.
    Echo(Pattern),
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    Always,
    Variable { name: String, set: bool },
    Expression(Expression),
}
