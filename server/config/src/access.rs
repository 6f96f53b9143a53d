//! Access rules: `Require` and its containers, and the older `Order`, `Allow`, `Deny`.
//!
//! A requirement reads facts of the request through a [`Visitor`]. Host names are not looked up
//! here. A verdict that needs an unknown name is [`Verdict::NeedsName`]. The caller looks the name
//! up and evaluates the requirement again.

mod allow_deny;
mod authentication;
mod names;
mod worker_encoding;

pub use allow_deny::{AllowDeny, From, Order};
pub use authentication::{AuthWord, Authentication, DigestAlgorithm, DigestWord, DigestWords};
pub use names::{NameLookups, NameTest};

use std::net::IpAddr;

use crate::text::VariableSource;
use crate::{Expression, Network};

/// The methods of a `<Limit>` (true) or `<LimitExcept>` (false) section.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Methods {
    pub names: Vec<String>,
    pub listed: bool,
}

impl Methods {
    /// Tells whether these are among the other methods.
    pub(crate) fn are_within(&self, other: &Methods) -> bool {
        let has = |all: &Methods, name: &String| all.names.contains(name);
        match (self.listed, other.listed) {
            (true, listed) => self.names.iter().all(|name| has(other, name) == listed),
            (false, true) => false,
            (false, false) => other.names.iter().all(|name| has(self, name)),
        }
    }

    pub fn holds(&self, method: &[u8]) -> bool {
        is_among(&self.names, method) == self.listed
    }
}

/// Tells whether a method is in a list. GET includes HEAD.
fn is_among(names: &[String], method: &[u8]) -> bool {
    let method: &[u8] = if method == b"HEAD" { b"GET" } else { method };
    names.iter().any(|name| name.as_bytes() == method)
}

/// How the `Require` lines of a section combine with those of outer sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum Merging {
    And,
    Or,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Requirement {
    /// `all granted` (true) or `all denied` (false).
    All(bool),
    Addresses(Vec<Network>),
    Named(NameTest),
    /// The client has a loopback address or the server's own address.
    Local,
    Environment(Vec<String>),
    Method(Vec<String>),
    User(Vec<String>),
    ValidUser,
    Group(Vec<String>),
    Expression(Expression),
    /// A provider of `PerlAddAuthzProvider`: a Perl handler decides.
    Perl(Authorizer),
    Not(Box<Requirement>),
    Any(Vec<Requirement>),
    Every(Vec<Requirement>),
    None(Vec<Requirement>),
    /// A requirement that applies only to these methods.
    Limited(Methods, Box<Requirement>),
}

/// A Perl handler that decides about access, and the words of `Require` behind the provider's name.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Authorizer {
    pub handler: String,
    pub words: String,
}

/// The result of a requirement for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Granted,
    Denied,
    /// The result depends on the user. For an expression that names the user: the expression does
    /// not hold, with or without a user.
    NeedsUser,
    /// The result depends on the client's host name, which is not known yet.
    NeedsName,
    /// The requirement cannot grant and does not deny.
    Neutral,
    /// The requirement does not apply to the request's method.
    Silent,
}

impl Verdict {
    fn is_open(self) -> bool {
        matches!(self, Verdict::NeedsUser | Verdict::NeedsName)
    }

    /// Returns the verdict of `Require not`. As in Apache, a negated requirement never asks for a
    /// user: it is neutral without one.
    fn negated(self) -> Verdict {
        match self {
            Verdict::Granted => Verdict::Denied,
            Verdict::Denied | Verdict::NeedsUser => Verdict::Neutral,
            other => other,
        }
    }

    /// Combines two verdicts that are still open. A name is looked up before a password is
    /// requested.
    fn or_open(self, open: Verdict) -> Verdict {
        match self {
            Verdict::NeedsName => self,
            _ => open,
        }
    }
}

/// The facts about the client of a request.
pub struct Visitor<'a> {
    pub address: Option<IpAddr>,
    pub own_address: Option<IpAddr>,
    pub method: &'a [u8],
    pub variables: &'a dyn VariableSource,
    pub has_variable: &'a dyn Fn(&str) -> bool,
    pub user: Option<&'a [u8]>,
    pub is_member: &'a dyn Fn(&[u8], &str) -> bool,
    /// Tells whether the client has the name. `None`: the name is not known yet, or the resolver
    /// failed.
    pub is_named: &'a dyn Fn(&NameTest) -> Option<bool>,
}

impl Requirement {
    pub fn verdict(&self, visitor: &Visitor<'_>) -> Verdict {
        let decided = |granted: bool| {
            if granted {
                Verdict::Granted
            } else {
                Verdict::Denied
            }
        };
        let of_user = |fits: &dyn Fn(&[u8]) -> bool| match visitor.user {
            None => Verdict::NeedsUser,
            Some(user) => decided(fits(user)),
        };
        match self {
            Requirement::All(granted) => decided(*granted),
            Requirement::Addresses(networks) => decided(visitor.is_within(networks)),
            Requirement::Named(test) => {
                (visitor.is_named)(test).map_or(Verdict::NeedsName, decided)
            }
            Requirement::Local => decided(visitor.is_local()),
            Requirement::Environment(names) => {
                decided(names.iter().any(|name| (visitor.has_variable)(name)))
            }
            Requirement::Method(names) => decided(is_among(names, visitor.method)),
            Requirement::Expression(expression) => match expression.holds(visitor.variables) {
                false if expression.names_user() => Verdict::NeedsUser,
                holds => decided(holds),
            },
            // Only a worker can run the handler. Without a worker the request is refused.
            Requirement::Perl(_) => of_user(&|_| false),
            Requirement::ValidUser => of_user(&|_| true),
            Requirement::User(names) => {
                of_user(&|user| names.iter().any(|name| name.as_bytes() == user))
            }
            Requirement::Group(names) => {
                of_user(&|user| names.iter().any(|name| (visitor.is_member)(user, name)))
            }
            Requirement::Not(inner) => inner.verdict(visitor).negated(),
            Requirement::Any(inner) => any(inner.iter(), visitor),
            Requirement::Every(inner) => every(inner.iter(), visitor),
            Requirement::None(inner) => any(inner.iter(), visitor).negated(),
            Requirement::Limited(methods, inner) => {
                if methods.holds(visitor.method) {
                    inner.verdict(visitor)
                } else {
                    Verdict::Silent
                }
            }
        }
    }

    /// Returns the result if every request has the same result.
    pub fn constant(&self) -> Option<bool> {
        match self {
            Requirement::All(granted) => Some(*granted),
            Requirement::Any(inner) => {
                let all: Option<Vec<bool>> = inner.iter().map(Requirement::constant).collect();
                if inner.iter().any(|inner| inner.constant() == Some(true)) {
                    Some(true)
                } else {
                    all.map(|_| false)
                }
            }
            Requirement::Every(inner) => {
                let all: Option<Vec<bool>> = inner.iter().map(Requirement::constant).collect();
                all.map(|all| !all.contains(&false))
            }
            _ => None,
        }
    }

    /// Tells whether a `<RequireAll>`, here or within, has negated requirements only.
    pub(crate) fn has_only_negated(&self) -> bool {
        match self {
            Requirement::Every(inner) => {
                !self.can_grant() || inner.iter().any(Requirement::has_wrong_part)
            }
            Requirement::Any(_) | Requirement::None(_) => self.has_wrong_part(),
            Requirement::Not(inner) | Requirement::Limited(_, inner) => inner.has_only_negated(),
            _ => false,
        }
    }

    /// Tells whether a part of a requirement has negated requirements only. A `<RequireAll>`
    /// directly within another one counts as a part of the outer one.
    fn has_wrong_part(&self) -> bool {
        match self {
            Requirement::Every(inner) => inner.iter().any(Requirement::has_wrong_part),
            Requirement::Any(inner) | Requirement::None(inner) => {
                inner.iter().any(Requirement::has_only_negated)
            }
            Requirement::Not(inner) | Requirement::Limited(_, inner) => inner.has_wrong_part(),
            _ => false,
        }
    }

    /// Tells whether a requirement of a `<RequireAll>` can grant.
    fn can_grant(&self) -> bool {
        match self {
            Requirement::Not(_) | Requirement::None(_) => false,
            Requirement::Limited(_, inner) => inner.can_grant(),
            Requirement::Every(inner) => inner.iter().any(Requirement::can_grant),
            _ => true,
        }
    }

    /// Tells whether the requirement applies to requests with this method.
    pub fn decides(&self, method: &[u8]) -> bool {
        match self {
            Requirement::Limited(methods, inner) => methods.holds(method) && inner.decides(method),
            Requirement::Not(inner) => inner.decides(method),
            Requirement::Any(inner) | Requirement::Every(inner) | Requirement::None(inner) => {
                inner.iter().any(|inner| inner.decides(method))
            }
            _ => true,
        }
    }

    /// Tells whether the result of the requirement may depend on the user.
    pub fn asks_user(&self) -> bool {
        match self {
            Requirement::User(_)
            | Requirement::ValidUser
            | Requirement::Group(_)
            | Requirement::Perl(_) => true,
            Requirement::Expression(expression) => expression.names_user(),
            Requirement::Not(inner) | Requirement::Limited(_, inner) => inner.asks_user(),
            Requirement::Any(inner) | Requirement::Every(inner) | Requirement::None(inner) => {
                inner.iter().any(Requirement::asks_user)
            }
            _ => false,
        }
    }

    /// Tells whether an expression names the user.
    pub fn reads_user(&self) -> bool {
        match self {
            Requirement::Expression(expression) => expression.names_user(),
            Requirement::Not(inner) | Requirement::Limited(_, inner) => inner.reads_user(),
            Requirement::Any(inner) | Requirement::Every(inner) | Requirement::None(inner) => {
                inner.iter().any(Requirement::reads_user)
            }
            _ => false,
        }
    }

    /// Tells whether the result depends on fields, variables or the method of the request.
    pub fn reads_request(&self) -> bool {
        match self {
            Requirement::Environment(_)
            | Requirement::Expression(_)
            | Requirement::Method(_)
            | Requirement::Limited(..) => true,
            Requirement::Not(inner) => inner.reads_request(),
            Requirement::Any(inner) | Requirement::Every(inner) | Requirement::None(inner) => {
                inner.iter().any(Requirement::reads_request)
            }
            _ => false,
        }
    }
}

fn any<'r>(inner: impl Iterator<Item = &'r Requirement>, visitor: &Visitor<'_>) -> Verdict {
    let mut verdict = Verdict::Silent;
    for requirement in inner {
        match requirement.verdict(visitor) {
            Verdict::Granted => return Verdict::Granted,
            open if open.is_open() => verdict = verdict.or_open(open),
            Verdict::Denied if !verdict.is_open() => verdict = Verdict::Denied,
            Verdict::Neutral if verdict == Verdict::Silent => verdict = Verdict::Neutral,
            _ => {}
        }
    }
    verdict
}

/// As in Apache, a requirement that does not apply to the method counts as granted here, if any
/// other requirement applies.
fn every<'r>(inner: impl Iterator<Item = &'r Requirement>, visitor: &Visitor<'_>) -> Verdict {
    let mut verdict = Verdict::Silent;
    let mut has_silent = false;
    for requirement in inner {
        match requirement.verdict(visitor) {
            Verdict::Denied => return Verdict::Denied,
            open if open.is_open() => verdict = verdict.or_open(open),
            Verdict::Granted if !verdict.is_open() => verdict = Verdict::Granted,
            Verdict::Neutral if verdict == Verdict::Silent => verdict = Verdict::Neutral,
            Verdict::Silent => has_silent = true,
            _ => {}
        }
    }
    if verdict == Verdict::Neutral && has_silent {
        return Verdict::Granted;
    }
    verdict
}

impl Visitor<'_> {
    fn is_within(&self, networks: &[Network]) -> bool {
        self.address
            .is_some_and(|address| networks.iter().any(|network| network.contains(address)))
    }

    fn is_local(&self) -> bool {
        match self.address {
            // The client uses a local socket.
            None => true,
            Some(address) => address.is_loopback() || Some(address) == self.own_address,
        }
    }
}
