//! Health checks of back ends: the parameters `hcmethod=`, `hcuri=` and so on.

use crate::Expression;
use std::sync::Arc;
use std::time::Duration;

/// `hcmethod=`: how a health check asks a member. The methods of HTTP apply to `http://` and
/// `https://` members. To other members the check only opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckMethod {
    /// The member is not checked.
    None,
    /// The check only opens a connection.
    Tcp,
    Options,
    Head,
    Get,
    /// The same methods with HTTP/1.1. Those without a number use HTTP/1.0, as in Apache.
    Options11,
    Head11,
    Get11,
}

impl CheckMethod {
    pub const NAMES: [(&'static str, CheckMethod); 8] = [
        ("None", CheckMethod::None),
        ("TCP", CheckMethod::Tcp),
        ("OPTIONS", CheckMethod::Options),
        ("HEAD", CheckMethod::Head),
        ("GET", CheckMethod::Get),
        ("OPTIONS11", CheckMethod::Options11),
        ("HEAD11", CheckMethod::Head11),
        ("GET11", CheckMethod::Get11),
    ];
}

/// The parameters of a health check that a `BalancerMember`, a `ProxySet` or a `ProxyHCTemplate`
/// sets. `None`: the parameter is not set.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct HealthCheck {
    /// `hcmethod=`. The default is GET with HTTP/1.1 if there is an `hcuri=`, otherwise TCP.
    pub method: Option<CheckMethod>,
    /// `hcinterval=`: the time between two checks. The default is 30 s.
    pub every: Option<Duration>,
    /// `hcuri=`: the URL path of the check. It follows the path of the member's URL.
    pub uri: Option<String>,
    /// `hcpasses=`: how many checks in a row must pass before a failed member is used again. The
    /// default is 1.
    pub passes: Option<u32>,
    /// `hcfails=`: how many checks in a row must fail before a member is avoided. The default is 1.
    pub fails: Option<u32>,
    /// `hcexpr=`: whether a response is that of a healthy member. By default a status from 200 to
    /// 399 is.
    pub condition: Option<Arc<Expression>>,
}

impl HealthCheck {
    /// Returns these parameters, and for each parameter that is not set the parameter of `other`.
    pub fn or(self, other: &HealthCheck) -> HealthCheck {
        HealthCheck {
            method: self.method.or(other.method),
            every: self.every.or(other.every),
            uri: self.uri.or_else(|| other.uri.clone()),
            passes: self.passes.or(other.passes),
            fails: self.fails.or(other.fails),
            condition: self.condition.or_else(|| other.condition.clone()),
        }
    }

    /// Whether any parameter is set and the method is not `None`.
    pub fn is_wanted(&self) -> bool {
        *self != HealthCheck::default() && self.method != Some(CheckMethod::None)
    }

    pub fn method(&self) -> CheckMethod {
        let by_uri = match self.uri {
            Some(_) => CheckMethod::Get11,
            None => CheckMethod::Tcp,
        };
        self.method.unwrap_or(by_uri)
    }

    pub fn every(&self) -> Duration {
        self.every.unwrap_or(Duration::from_secs(30))
    }
}

/// What `hctemplate=` and `hcexpr=` can name.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct NamedChecks {
    /// The lines `ProxyHCTemplate`, by name.
    pub templates: Vec<(String, HealthCheck)>,
    /// The lines `ProxyHCExpr`, by name.
    pub conditions: Vec<(String, Arc<Expression>)>,
}
