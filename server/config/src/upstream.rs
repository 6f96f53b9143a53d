//! Back ends as the configuration describes them: what `ProxyPass`, `<Proxy balancer://...>`,
//! `SetHandler "proxy:..."` and `FastCgiServer` come to. Settings only; `mehari_upstream` uses them.

use std::path::PathBuf;
use std::time::Duration;

/// What is spoken with a back end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Speech {
    /// HTTP/1.1
    Http,
    /// FastCGI 1.0, the role Responder.
    FastCgi,
    Scgi,
    Uwsgi,
}

impl Speech {
    pub fn scheme(self) -> &'static str {
        match self {
            Speech::Http => "http",
            Speech::FastCgi => "fcgi",
            Speech::Scgi => "scgi",
            Speech::Uwsgi => "uwsgi",
        }
    }
}

/// Where a back end listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BackEndAddress {
    /// Host and port.
    Tcp(String, u16),
    Unix(PathBuf),
}

impl std::fmt::Display for BackEndAddress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BackEndAddress::Tcp(host, port) if host.contains(':') => write!(out, "[{host}]:{port}"),
            BackEndAddress::Tcp(host, port) => write!(out, "{host}:{port}"),
            BackEndAddress::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

/// How a balancer chooses among its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Any member, as often as its load factor says: lighttpd 1.5's round robin.
    Random,
    /// One after the other, smoothly weighted.
    RoundRobin,
    /// Shortest queue first: the fewest requests in flight for its load factor.
    Sqf,
    /// The same member for the same host and path (rendezvous hashing).
    Carp,
    /// The least expected time: what requests took lately, times those in flight.
    LeastTime,
}

impl Method {
    /// Apache's names mean what comes nearest.
    pub const NAMES: [(&'static str, Method); 8] = [
        ("random", Method::Random),
        ("round-robin", Method::RoundRobin),
        ("byrequests", Method::RoundRobin),
        ("sqf", Method::Sqf),
        ("bybusyness", Method::Sqf),
        ("carp", Method::Carp),
        ("least-time", Method::LeastTime),
        ("least_time", Method::LeastTime),
    ];

    pub fn name(self) -> &'static str {
        let same = |(_, method): &&(&str, Method)| *method == self;
        Method::NAMES.iter().find(same).map_or("", |(name, _)| name)
    }
}

/// What a balancer may do with a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    #[default]
    Enabled,
    /// Gets no request (`status=+D`).
    Disabled,
    /// Gets requests that stick to it and no others (`status=+N`).
    Draining,
    /// Gets requests while no ordinary member can take any (`status=+H`).
    HotSpare,
}

/// One back end: a `BalancerMember`, or what a `ProxyPass` names itself.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BackEnd {
    pub speech: Speech,
    /// Within TLS: `https://`.
    pub secure: bool,
    pub address: BackEndAddress,
    /// The path of its URL, put before what is asked for; empty or beginning with a slash.
    pub path: String,
    /// The value of its Host field unless the client's is kept.
    pub host: String,
    /// `route=`: what a session's name ends with when it sticks to this member.
    pub route: Option<String>,
    /// `loadfactor=`, 1.0 is usual.
    pub weight: f64,
    /// `max=`: requests at once; 0 is no limit.
    pub max: usize,
    /// `smax=`: idle connections kept.
    pub idle: usize,
    /// `ttl=`: how long one is kept idle.
    pub idle_time: Duration,
    /// `disablereuse=`, `keepalive=`: false opens a connection for each request.
    pub reuse: bool,
    /// `retry=`: longest pause before a failed member is tried again.
    pub retry: Duration,
    /// `timeout=`: without a byte for this long the request is given up. `None`: `ProxyTimeout`.
    pub timeout: Option<Duration>,
    /// `connectiontimeout=`
    pub connect_timeout: Duration,
    pub standing: Standing,
    /// `slowstart=`: how long a member that came back gets less than its share.
    pub slow_start: Duration,
    /// `failontimeout=`: a request that times out counts as a failure of the member.
    pub fail_on_timeout: bool,
}

impl BackEnd {
    /// A back end of which no more is said than where it is.
    pub fn new(speech: Speech, address: BackEndAddress, host: String) -> BackEnd {
        BackEnd {
            speech,
            secure: false,
            address,
            path: String::new(),
            host,
            route: None,
            weight: 1.0,
            max: 0,
            idle: 32,
            idle_time: Duration::from_secs(60),
            reuse: true,
            retry: Duration::from_secs(10),
            timeout: None,
            connect_timeout: Duration::from_secs(5),
            standing: Standing::Enabled,
            slow_start: Duration::ZERO,
            fail_on_timeout: false,
        }
    }

    pub fn scheme(&self) -> &'static str {
        if self.secure {
            "https"
        } else {
            self.speech.scheme()
        }
    }

    /// The host of its URL, without the port.
    pub fn host_name(&self) -> &str {
        match self.host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or(rest),
            None => self.host.split(':').next().unwrap_or(&self.host),
        }
    }

    /// As URLs name it: what tells members apart.
    pub fn name(&self) -> String {
        match &self.address {
            BackEndAddress::Unix(path) => {
                format!("unix:{}|{}:", path.display(), self.scheme())
            }
            address => format!("{}://{address}{}", self.scheme(), self.path),
        }
    }
}

/// `hcinterval=`, `hcuri=`, `hcpasses=`, `hcfails=`: asking a member whether it is well.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct HealthCheck {
    pub every: Duration,
    /// What is asked for by GET; empty: being connected is enough.
    pub uri: String,
    pub passes: u32,
    pub fails: u32,
}

/// `FastCgiServer`: a program that is started and watched, and listens on the back end's socket.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Program {
    pub file: PathBuf,
    pub arguments: Vec<String>,
    pub processes: usize,
    pub environment: Vec<(String, String)>,
    /// Where it runs; `None`: where the server does.
    pub folder: Option<PathBuf>,
}

impl Program {
    /// How long a process of the Lua pool works for one request: a bit longer than the front waits for it.
    pub(crate) fn limit(&mut self, seconds: u64) {
        if self.arguments == ["lua-pool"] {
            let limit = ["--timeout".into(), seconds.to_string()];
            self.arguments.extend(limit);
        }
    }
}

/// Back ends that stand for each other: a balancer, or one alone.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Upstream {
    /// `balancer://name`, or the URL of the one back end.
    pub name: String,
    pub members: Vec<BackEnd>,
    pub method: Method,
    /// `stickysession=`: the cookie or parameter that names a route.
    pub sticky: Option<String>,
    /// `nofailover=`: a session whose member is gone is refused.
    pub no_failover: bool,
    /// `backlog=`: requests that may wait while every member is busy.
    pub queue: usize,
    /// `timeout=` of a balancer: how long one may wait.
    pub queue_timeout: Duration,
    /// `maxattempts=`: members tried for one request beside the first.
    pub attempts: usize,
    pub health: Option<HealthCheck>,
    pub program: Option<Program>,
}

impl Upstream {
    /// All members speak the same.
    pub fn speech(&self) -> Speech {
        self.members
            .first()
            .map_or(Speech::Http, |member| member.speech)
    }
}

/// The name of the upstream that runs scripts of `SetHandler lua`.
pub const LUA_POOL: &str = "lua:";

/// The name of the upstream that says how scripts of `SetHandler fcgid-script` are run: each is a program of its own.
pub const FCGID: &str = "fcgid:";

impl crate::Site {
    /// The upstream of this name.
    pub fn upstream(&self, name: &str) -> Option<&Upstream> {
        self.back_ends
            .upstreams
            .iter()
            .find(|upstream| upstream.name == name)
    }
}

/// What stands for a URL path on a back end.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Proxied {
    /// The name of its [`Upstream`].
    pub upstream: String,
    /// The URL path that is replaced; for a `Match` form the expression.
    pub from: PassFrom,
    /// What it is replaced by. `None` (`SetHandler`): the whole path stays.
    pub to: Option<String>,
    /// `nocanon`: the rest of the path goes on as it was sent.
    pub raw: bool,
}

impl std::fmt::Display for Proxied {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "proxy {}{}",
            self.upstream,
            self.to.as_deref().unwrap_or_default()
        )
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum PassFrom {
    Prefix(String),
    Match(crate::Pattern),
}

/// `ProxyPass` outside of sections: the first that matches decides. `to` is `None` for `!`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Pass {
    pub from: PassFrom,
    pub to: Option<std::sync::Arc<Proxied>>,
}

impl PassFrom {
    /// Whether the decoded path is meant.
    pub fn matches(&self, path: &[u8]) -> bool {
        match self {
            PassFrom::Prefix(prefix) => rest(prefix.as_bytes(), path).is_some(),
            PassFrom::Match(pattern) => pattern.matches(path),
        }
    }
}

impl Proxied {
    /// The path on the back end for a path of ours; `None`: it is not ours after all.
    pub fn path(&self, path: &[u8]) -> Option<Vec<u8>> {
        let Some(to) = &self.to else {
            return Some(path.to_vec());
        };
        match &self.from {
            PassFrom::Prefix(prefix) => {
                let rest = rest(prefix.as_bytes(), path)?;
                Some([to.as_bytes(), rest].concat())
            }
            PassFrom::Match(pattern) => pattern.expand(path, to),
        }
    }
}

/// What of `path` lies behind `prefix`, which ends on a segment boundary unless it ends with a slash.
fn rest<'p>(prefix: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
    let rest = path.strip_prefix(prefix)?;
    let whole = prefix.ends_with(b"/") || rest.is_empty() || rest.starts_with(b"/");
    whole.then_some(rest)
}

/// What happens to headers on the way to a back end and back, and how long it may take.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ProxySettings {
    /// `ProxyPreserveHost`
    pub preserve_host: bool,
    /// `ProxyAddHeaders`: X-Forwarded-For, -Host, -Proto and -Server.
    pub add_headers: bool,
    /// `ProxyAddForwarded`: Forwarded (RFC 7239) beside them.
    pub add_forwarded: bool,
    /// `ProxyForwarded`
    pub forwarded: Forwarded,
    /// `ProxyErrorOverride`: statuses that get a page of our own. `Some` of nothing: all from 400 on.
    pub error_override: Option<Vec<u16>>,
    /// `ProxyTimeout`; `None`: `Timeout`.
    pub timeout: Option<Duration>,
    /// `ProxyWebsocketIdleTimeout`; `None`: no limit.
    pub tunnel_timeout: Option<Duration>,
    /// `ProxyPassReverse`: what a Location begins with, and what it then begins with instead.
    pub reverse: Vec<(String, String)>,
    pub cookie_domain: Vec<(String, String)>,
    pub cookie_path: Vec<(String, String)>,
    /// `XSendFile On`, and the folders files may be in.
    pub send_file: bool,
    pub send_file_roots: Vec<PathBuf>,
}

/// What becomes of what a client says about those it came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Forwarded {
    /// X-Forwarded-* are appended to.
    Append,
    /// X-Forwarded-* and Forwarded are replaced: there is nobody before us who may be believed.
    Replace,
}

impl Default for ProxySettings {
    fn default() -> ProxySettings {
        ProxySettings {
            preserve_host: false,
            add_headers: true,
            add_forwarded: false,
            forwarded: Forwarded::Append,
            error_override: None,
            timeout: None,
            tunnel_timeout: None,
            reverse: Vec::new(),
            cookie_domain: Vec::new(),
            cookie_path: Vec::new(),
            send_file: false,
            send_file_roots: Vec::new(),
        }
    }
}
