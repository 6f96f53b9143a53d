//! A requirement as text for the worker, if Perl decides about users. The parts about users are
//! written as text. Each other part becomes a number, and each request carries the results of these
//! parts.
//!
//! The lines go from the outside in, and a container precedes its parts: `granted`, `denied`,
//! `valid-user`, `user NAME...`, `group NAME...`, `perl HANDLER TAB WORDS`, `known N`,
//! `expression N`, `not`, `limit N`, `any K`, `all K`, `none K`. `requirement.c` in perl/xs reads
//! them. `expression N` is an expression that names the user: if result N is a denial, the
//! expression asks for a user.

use super::{any, every, AllowDeny, Methods, Requirement, Verdict, Visitor};

/// The most results that a request carries, two bits each. A part beyond this number counts as
/// denied.
const MOST: usize = 32;

enum Node<'r> {
    Said(String),
    /// The beginning of a container with this number of nodes.
    Open(&'static str, usize),
    /// A requirement that does not depend on the user.
    Whole(&'r Requirement),
    /// An expression that names the user.
    Expression(&'r Requirement),
    Several(Combination, Vec<&'r Requirement>),
    Limit(&'r Methods),
}

#[derive(Clone, Copy)]
enum Combination {
    Any,
    Every,
}

impl Requirement {
    /// Returns the requirement as lines.
    pub(crate) fn encode_for_worker(&self) -> String {
        let mut number = 0;
        let mut next = || {
            number += 1;
            number - 1
        };
        let lines = self.nodes().into_iter().map(|node| match node {
            Node::Said(line) => line,
            Node::Open("not", _) => "not".to_string(),
            Node::Open(word, count) => format!("{word} {count}"),
            Node::Whole(_) | Node::Several(..) => format!("known {}", next()),
            Node::Expression(_) => format!("expression {}", next()),
            Node::Limit(_) => format!("limit {}", next()),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the results of the numbered parts for one request.
    pub fn encode_results(&self, visitor: &Visitor<'_>) -> u64 {
        let verdicts = self.nodes().into_iter().filter_map(|node| match node {
            Node::Said(_) | Node::Open(..) => None,
            Node::Whole(requirement) | Node::Expression(requirement) => {
                Some(requirement.verdict(visitor))
            }
            Node::Several(Combination::Any, inner) => Some(any(inner.into_iter(), visitor)),
            Node::Several(Combination::Every, inner) => Some(every(inner.into_iter(), visitor)),
            Node::Limit(methods) if methods.holds(visitor.method) => Some(Verdict::Granted),
            Node::Limit(_) => Some(Verdict::Denied),
        });
        let bits = verdicts.take(MOST).enumerate().map(|(number, verdict)| {
            let bits: u64 = match verdict {
                Verdict::Granted => 0,
                Verdict::Denied | Verdict::NeedsUser | Verdict::NeedsName => 1,
                Verdict::Neutral => 2,
                Verdict::Silent => 3,
            };
            bits << (2 * number)
        });
        bits.fold(0, |all, bits| all | bits)
    }

    fn nodes(&self) -> Vec<Node<'_>> {
        let mut nodes = Vec::new();
        self.put(&mut nodes);
        nodes
    }

    fn put<'r>(&'r self, into: &mut Vec<Node<'r>>) {
        if let Some(granted) = self.constant() {
            let word = if granted { "granted" } else { "denied" };
            return into.push(Node::Said(word.to_string()));
        }
        if !self.asks_user() {
            return into.push(Node::Whole(self));
        }
        match self {
            Requirement::ValidUser => into.push(Node::Said("valid-user".to_string())),
            Requirement::User(names) => into.push(Node::Said(format!("user {}", names.join(" ")))),
            Requirement::Group(names) => {
                into.push(Node::Said(format!("group {}", names.join(" "))))
            }
            Requirement::Perl(perl) => {
                let handler = perl.handler.replace('\n', " ");
                into.push(Node::Said(format!(
                    "perl {handler}\t{}",
                    perl.words.replace('\n', " ")
                )))
            }
            Requirement::Not(inner) => {
                into.push(Node::Open("not", 1));
                inner.put(into);
            }
            Requirement::Limited(methods, inner) => {
                into.push(Node::Limit(methods));
                inner.put(into);
            }
            Requirement::Any(inner) => contained("any", Combination::Any, inner, into),
            Requirement::None(inner) => contained("none", Combination::Any, inner, into),
            Requirement::Every(inner) => contained("all", Combination::Every, inner, into),
            Requirement::Expression(_) => into.push(Node::Expression(self)),
            other => into.push(Node::Whole(other)),
        }
    }
}

/// Adds the nodes of a container. All parts that need no user become one node.
fn contained<'r>(
    word: &'static str,
    kind: Combination,
    inner: &'r [Requirement],
    into: &mut Vec<Node<'r>>,
) {
    let (asking, others): (Vec<_>, Vec<_>) = inner.iter().partition(|one| one.asks_user());
    into.push(Node::Open(
        word,
        asking.len() + usize::from(!others.is_empty()),
    ));
    if !others.is_empty() {
        into.push(Node::Several(kind, others));
    }
    for requirement in asking {
        requirement.put(into);
    }
}

impl AllowDeny {
    /// Returns the `Satisfy` lines for the worker: `all` or `any`, and behind it the methods of a
    /// `<Limit>`, or `except` and those of a `<LimitExcept>`. The last line that holds counts.
    pub(crate) fn encode_satisfy(&self) -> String {
        let lines = self.satisfy.iter().map(|(methods, any)| {
            let word = if *any { "any" } else { "all" };
            match methods {
                None => word.to_string(),
                Some(Methods {
                    names,
                    listed: true,
                }) => format!("{word} {}", names.join(" ")),
                Some(Methods { names, .. }) => format!("{word} except {}", names.join(" ")),
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
