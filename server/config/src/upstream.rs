//! Back ends as configured by `ProxyPass`, `<Proxy balancer://...>`, `SetHandler "proxy:..."` and
//! `FastCgiServer`. This module has only settings, which `mehari_upstream` uses.

use crate::HealthCheck;
use std::path::PathBuf;
use std::time::Duration;

/// The protocol of a back end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Speech {
    /// HTTP/1.1.
    Http,
    /// FastCGI 1.0, in the role Responder.
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

/// The address at which a back end listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BackEndAddress {
    /// A host and a port.
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

/// The method by which a balancer chooses a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// A random member, weighted by the load factors. Like round robin in lighttpd 1.5.
    Random,
    /// One member after the other, smoothly weighted by the load factors.
    RoundRobin,
    /// The member with the fewest running requests relative to its load factor.
    Sqf,
    /// The same member for the same host and path (rendezvous hashing).
    Carp,
    /// The member with the least product of recent response time and running requests.
    LeastTime,
}

impl Method {
    /// The names of the methods. A name of Apache means the most similar method.
    pub const NAMES: [(&'static str, Method); 10] = [
        ("random", Method::Random),
        ("round-robin", Method::RoundRobin),
        ("byrequests", Method::RoundRobin),
        // The members of a group get the same kind of pages, so also the same traffic.
        ("bytraffic", Method::RoundRobin),
        ("sqf", Method::Sqf),
        ("bybusyness", Method::Sqf),
        // The requests that run tell the same as the heartbeats of idle processes.
        ("heartbeat", Method::Sqf),
        ("carp", Method::Carp),
        ("least-time", Method::LeastTime),
        ("least_time", Method::LeastTime),
    ];

    pub fn name(self) -> &'static str {
        let same = |(_, method): &&(&str, Method)| *method == self;
        Method::NAMES.iter().find(same).map_or("", |(name, _)| name)
    }
}

/// A member's role in its balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    #[default]
    Enabled,
    /// Gets no request (`status=+D`).
    Disabled,
    /// Gets only the requests of its sessions (`status=+N`).
    Draining,
    /// Gets requests while no ordinary member is available (`status=+H`).
    HotSpare,
}

/// One back end: a `BalancerMember`, or the target of a `ProxyPass`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BackEnd {
    pub speech: Speech,
    /// Uses TLS: `https://`.
    pub secure: bool,
    pub address: BackEndAddress,
    /// The path of the back end's URL. It is the beginning of every path that is requested from the
    /// back end. Empty, or with a leading slash.
    pub path: String,
    /// The value of the Host field that the back end gets, unless `ProxyPreserveHost` keeps the
    /// client's.
    pub host: String,
    /// `route=`: the end of the names of the sessions that belong to this member.
    pub route: Option<String>,
    /// `redirect=`: the route of the member that gets this member's sessions while it is not
    /// available.
    pub redirect: Option<String>,
    /// `lbset=`: members with a higher number get requests while none with a lower number can.
    pub set: u8,
    /// `loadfactor=`: the member's weight. The default is 1.0.
    pub weight: f64,
    /// `max=`: the most concurrent requests to the member. 0 means no limit.
    pub max: usize,
    /// `smax=`: the most idle connections that are kept.
    pub idle: usize,
    /// `ttl=`: how long a connection may be idle.
    pub idle_time: Duration,
    /// `disablereuse=`, `enablereuse=`: whether connections are reused. If false, each request
    /// opens a connection.
    pub reuse: bool,
    /// `retry=`: the longest time before a failed member is tried again.
    pub retry: Duration,
    /// `timeout=`: the request ends after this long without a byte. `None`: `ProxyTimeout`.
    pub timeout: Option<Duration>,
    /// `connectiontimeout=`
    pub connect_timeout: Duration,
    pub standing: Standing,
    /// `slowstart=`: how long a member that is available again gets a reduced share of the
    /// requests.
    pub slow_start: Duration,
    /// `failontimeout=`: a timeout counts as a failure of the member.
    pub fail_on_timeout: bool,
    pub health: HealthCheck,
}

impl BackEnd {
    /// Returns a back end with default parameters.
    pub fn new(speech: Speech, address: BackEndAddress, host: String) -> BackEnd {
        BackEnd {
            speech,
            secure: false,
            address,
            path: String::new(),
            host,
            route: None,
            redirect: None,
            set: 0,
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
            health: HealthCheck::default(),
        }
    }

    pub fn scheme(&self) -> &'static str {
        if self.secure {
            "https"
        } else {
            self.speech.scheme()
        }
    }

    /// Returns the host of the back end's URL, without the port.
    pub fn host_name(&self) -> &str {
        match self.host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or(rest),
            None => self.host.split(':').next().unwrap_or(&self.host),
        }
    }

    /// Returns the back end's URL as Apache names it.
    pub fn url(&self) -> String {
        let url = format!("{}://{}{}", self.scheme(), self.host, self.path);
        match &self.address {
            BackEndAddress::Unix(path) => format!("unix:{}|{url}", path.display()),
            BackEndAddress::Tcp(..) => url,
        }
    }

    /// Returns the back end's URL, which identifies the member.
    pub fn name(&self) -> String {
        match &self.address {
            BackEndAddress::Unix(path) => {
                format!("unix:{}|{}:", path.display(), self.scheme())
            }
            address => format!("{}://{address}{}", self.scheme(), self.path),
        }
    }
}

/// `FastCgiServer`: a program that the server starts and watches. The program listens on the back
/// end's socket.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Program {
    pub file: PathBuf,
    pub arguments: Vec<String>,
    pub processes: usize,
    pub environment: Vec<(String, String)>,
    /// The working directory. `None`: the server's working directory.
    pub folder: Option<PathBuf>,
    /// Whether the program may ask the server what the console shows. Its standard output is then
    /// the channel for its questions.
    pub asks_server: bool,
}

impl Program {
    /// Sets the time limit for a request in a process of the Lua pool. The caller gives a limit
    /// that is a bit longer than the front waits. For any other program, does nothing.
    pub(crate) fn limit(&mut self, seconds: u64) {
        if self.arguments == ["lua-pool"] {
            let limit = ["--timeout".into(), seconds.to_string()];
            self.arguments.extend(limit);
        }
    }
}

/// A balancer, or a single back end.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Upstream {
    /// `balancer://name`, or the URL of the single back end.
    pub name: String,
    pub members: Vec<BackEnd>,
    pub method: Method,
    pub sticky: Option<StickySession>,
    /// `nofailover=`: a request is refused if the member of its session is not available.
    pub no_failover: bool,
    /// `backlog=`: the number of requests that may wait while every member is busy.
    pub queue: usize,
    /// `timeout=` of a balancer: how long a request may wait.
    pub queue_timeout: Duration,
    /// `failontimeout=` of a balancer: a timeout counts as a failure of every member.
    pub fail_on_timeout: bool,
    /// `failonstatus=`: the statuses of responses after which a member counts as failed.
    pub fail_on_status: Vec<u16>,
    /// `maxattempts=`: how many other members a request may try after the first member.
    pub attempts: usize,
    /// The health check of members that set no parameters of their own.
    pub health: HealthCheck,
    pub program: Option<Program>,
}

/// `stickysession=`: where the name of a session stands, which contains the route.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct StickySession {
    pub cookie: String,
    /// The name of the parameter in the URL.
    pub parameter: String,
    /// `stickysessionsep=`: the route follows the first such byte. `None`: the value is the route.
    pub separator: Option<u8>,
    /// `scolonpathdelim=`: the parameter ends at a semicolon too.
    pub ends_at_semicolon: bool,
}

impl Default for StickySession {
    fn default() -> StickySession {
        StickySession {
            cookie: String::new(),
            parameter: String::new(),
            separator: Some(b'.'),
            ends_at_semicolon: false,
        }
    }
}

impl Upstream {
    /// Returns where sessions are named, if they stick to a member.
    pub fn sticky(&self) -> Option<&StickySession> {
        let sticky = self.sticky.as_ref();
        sticky.filter(|sticky| !sticky.cookie.is_empty() && !sticky.parameter.is_empty())
    }

    /// Whether the upstream is a balancer, and not a single back end.
    pub fn is_balancer(&self) -> bool {
        self.name.starts_with("balancer://")
    }

    /// Returns the protocol, which is the same for all members.
    pub fn speech(&self) -> Speech {
        self.members
            .first()
            .map_or(Speech::Http, |member| member.speech)
    }
}

/// The name of the upstream of `SetHandler lua`.
pub const LUA_POOL: &str = "lua:";

/// The name of the upstream of `SetHandler mehari-console`.
pub const CONSOLE: &str = "console:";

/// The name of the upstream with the settings of `SetHandler fcgid-script`, where each script is a
/// program.
pub const FCGID: &str = "fcgid:";

/// The mapping of a URL path to a back end.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Proxied {
    /// The name of the [`Upstream`] that gets the requests.
    pub upstream: String,
    /// The URL path that is replaced, or the expression of a `Match` form.
    pub from: PassFrom,
    /// The text that replaces `from`. `None` (`SetHandler`): the path does not change.
    pub to: Option<String>,
    /// `nocanon`: the rest of the path is sent as the client sent it.
    pub raw: bool,
}

impl std::fmt::Display for Proxied {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.upstream == CONSOLE {
            return out.write_str("mehari-console");
        }
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

/// A `ProxyPass` line outside of sections. The first matching line applies. `to` is `None` if the
/// target is `!`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Pass {
    pub from: PassFrom,
    pub to: Option<std::sync::Arc<Proxied>>,
}

impl PassFrom {
    /// Tells whether the decoded path matches this line.
    pub fn matches(&self, path: &[u8]) -> bool {
        match self {
            PassFrom::Prefix(prefix) => rest(prefix.as_bytes(), path).is_some(),
            PassFrom::Match(pattern) => pattern.matches(path),
        }
    }
}

impl Proxied {
    /// Returns the path on the back end. `None`: the path does not match.
    pub fn path(&self, path: &[u8]) -> Option<Vec<u8>> {
        let Some(to) = &self.to else {
            return Some(path.to_vec());
        };
        match &self.from {
            PassFrom::Prefix(prefix) => {
                let rest = rest(prefix.as_bytes(), path)?;
                Some([to.as_bytes(), rest].concat())
            }
            PassFrom::Match(pattern) => {
                let mut expanded = pattern.expand(path, to)?;
                // As in Apache, a URL without a group stands before the whole path.
                if expanded == to.as_bytes() {
                    expanded.extend_from_slice(path);
                }
                Some(expanded)
            }
        }
    }
}

/// Returns the rest of `path` behind `prefix`. A prefix without a final slash must end at the end
/// of a segment.
fn rest<'p>(prefix: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
    let rest = path.strip_prefix(prefix)?;
    let whole = prefix.ends_with(b"/") || rest.is_empty() || rest.starts_with(b"/");
    whole.then_some(rest)
}

/// The settings for requests to back ends: the treatment of header fields, and the time limits.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ProxySettings {
    /// `ProxyPreserveHost`
    pub preserve_host: bool,
    /// `ProxyAddHeaders`: X-Forwarded-For, -Host, -Proto and -Server.
    pub add_headers: bool,
    /// `ProxyAddForwarded`: requests also get the field Forwarded (RFC 7239).
    pub add_forwarded: bool,
    /// `ProxyForwarded`
    pub forwarded: Forwarded,
    /// `ProxyVia`
    pub via: Via,
    /// `ProxyErrorOverride`: the statuses for which the server sends its own page. Empty: all
    /// statuses from 400 on.
    pub error_override: Option<Vec<u16>>,
    /// `ProxyTimeout`. `None`: `Timeout` applies.
    pub timeout: Option<Duration>,
    /// `ProxyWebsocketIdleTimeout`. `None`: no limit.
    pub tunnel_timeout: Option<Duration>,
    /// `ProxyPassReverse`: the beginning of a Location field, and the replacement of this
    /// beginning.
    pub reverse: Vec<(String, String)>,
    pub cookie_domain: Vec<(String, String)>,
    pub cookie_path: Vec<(String, String)>,
    /// `XSendFile On`, and the allowed folders.
    pub send_file: bool,
    pub send_file_roots: Vec<PathBuf>,
}

/// The treatment of the field Via (RFC 9110 section 7.6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// The field is passed on unchanged.
    Off,
    /// This server adds itself.
    On,
    /// This server adds itself with its version.
    Full,
    /// Requests to back ends have no Via.
    Block,
}

/// The treatment of the fields in which a client names earlier clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Forwarded {
    /// The fields X-Forwarded-* are extended.
    Append,
    /// The fields X-Forwarded-* and Forwarded are replaced, because no trusted proxy is in front of
    /// the server.
    Replace,
}

impl Default for ProxySettings {
    fn default() -> ProxySettings {
        ProxySettings {
            preserve_host: false,
            add_headers: true,
            add_forwarded: false,
            forwarded: Forwarded::Append,
            via: Via::Off,
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
