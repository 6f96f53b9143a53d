//! The older access directives: `Order`, `Allow`, `Deny` and `Satisfy`.

use super::{Methods, NameTest, Visitor};
use crate::Network;

/// `Order`: which of `Allow` and `Deny` is evaluated last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub enum Order {
    #[default]
    DenyAllow,
    AllowDeny,
}

/// The clients of an `Allow` or a `Deny`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    All,
    Addresses(Vec<Network>),
    /// A host name or the end of a host name.
    Named(NameTest),
    /// `env=NAME`, or `env=!NAME` if the variable must not be set.
    Environment {
        name: String,
        set: bool,
    },
}

/// All `Order`, `Allow`, `Deny` and `Satisfy` of one section. As in Apache, they replace those of
/// outer sections.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct AllowDeny {
    pub order: Order,
    /// The `Order` of `<Limit>` sections. The last one that holds for the method counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limited_orders: Vec<(Methods, Order)>,
    pub allow: Vec<(Option<Methods>, From)>,
    pub deny: Vec<(Option<Methods>, From)>,
    /// `Satisfy`: Any (true) or All. The last one that holds for the method counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub satisfy: Vec<(Option<Methods>, bool)>,
}

impl AllowDeny {
    /// Sets the order for these methods. `None`: for all methods.
    pub(crate) fn set_order(&mut self, methods: Option<Methods>, order: Order) {
        match methods {
            Some(methods) => self.limited_orders.push((methods, order)),
            None => {
                self.limited_orders.clear();
                self.order = order;
            }
        }
    }

    /// Tells whether a request by this method must pass only one of these rules and `Require`.
    pub fn satisfies_any(&self, method: &[u8]) -> bool {
        let mut said = self.satisfy.iter().rev();
        let holds =
            |methods: &Option<Methods>| methods.as_ref().is_none_or(|one| one.holds(method));
        said.find(|(methods, _)| holds(methods))
            .is_some_and(|(_, any)| *any)
    }

    /// Returns what `Satisfy` says if it says the same for every method.
    pub fn always_satisfies_any(&self) -> Option<bool> {
        let all = self
            .satisfy
            .iter()
            .rposition(|(methods, _)| methods.is_none());
        let last = all.is_some_and(|all| self.satisfy[all].1);
        let mut later = self.satisfy[all.map_or(0, |all| all + 1)..].iter();
        later.all(|(_, any)| *any == last).then_some(last)
    }

    /// Tells whether the rules admit the client. `None`: the result depends on the client's host
    /// name, which is not known yet.
    pub fn grants(&self, visitor: &Visitor<'_>) -> Option<bool> {
        let about = |rules: &[(Option<Methods>, From)]| {
            let asked = rules.iter().filter(|(methods, _)| {
                let holds = |methods: &Methods| methods.holds(visitor.method);
                methods.as_ref().is_none_or(holds)
            });
            let mut found = Some(false);
            for (_, from) in asked {
                match from.holds(visitor) {
                    Some(true) => return Some(true),
                    Some(false) => {}
                    None => found = None,
                }
            }
            found
        };
        let mut limited = self.limited_orders.iter().rev();
        let limited = limited.find(|(methods, _)| methods.holds(visitor.method));
        let order = limited.map_or(self.order, |(_, order)| *order);
        match (order, about(&self.allow), about(&self.deny)) {
            (Order::DenyAllow, Some(true), _) | (Order::DenyAllow, _, Some(false)) => Some(true),
            (Order::AllowDeny, Some(false), _) | (Order::AllowDeny, _, Some(true)) => Some(false),
            (_, Some(allowed), Some(_)) => Some(allowed),
            _ => None,
        }
    }

    /// Returns the result if every request has the same result.
    pub fn constant(&self) -> Option<bool> {
        if !self.limited_orders.is_empty() {
            return None;
        }
        let all = |rules: &[(Option<Methods>, From)]| {
            let mut found = Some(false);
            for (methods, from) in rules {
                match (methods, from) {
                    (None, From::All) => return Some(true),
                    _ => found = None,
                }
            }
            found
        };
        match (self.order, all(&self.allow), all(&self.deny)) {
            (Order::DenyAllow, Some(true), _) | (Order::DenyAllow, _, Some(false)) => Some(true),
            (Order::DenyAllow, Some(false), Some(true)) => Some(false),
            (Order::AllowDeny, Some(false), _) | (Order::AllowDeny, _, Some(true)) => Some(false),
            (Order::AllowDeny, Some(true), Some(false)) => Some(true),
            _ => None,
        }
    }
}

impl From {
    fn holds(&self, visitor: &Visitor<'_>) -> Option<bool> {
        Some(match self {
            From::All => true,
            From::Addresses(networks) => visitor.is_within(networks),
            From::Named(test) => return (visitor.is_named)(test),
            From::Environment { name, set } => (visitor.has_variable)(name) == *set,
        })
    }
}
