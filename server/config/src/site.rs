//! The typed meaning of a configuration: what the rest of the server reads.
//!
//! The parser fills a [`Site`]; the command line and the zero-configuration mode fill one too.
//! Nothing here knows httpd.conf's syntax, HTTP or Perl.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::{Preloaded, Proxied, ProxySettings, Upstream};

/// How a piece of Perl is run. See DESIGN "The ladder".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rung {
    /// A process of its own for each request: any executable, CGI/1.1.
    Cgi,
    /// A fork of a warmed interpreter, run once.
    Fork,
    /// Compiled, run and its namespace flushed, in a worker.
    PerlRun,
    /// Compiled once, called for each request, in a worker.
    Registry,
    /// Registry's speed where it is proved clean, `Fork` where it is not.
    Auto,
}

impl Rung {
    pub const ALL: [Rung; 5] = [
        Rung::Cgi,
        Rung::Fork,
        Rung::PerlRun,
        Rung::Registry,
        Rung::Auto,
    ];

    /// As the command line and `PerlPreloadScript` write it.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Cgi => "cgi",
            Rung::Fork => "fork",
            Rung::PerlRun => "perlrun",
            Rung::Registry => "registry",
            Rung::Auto => "auto",
        }
    }

    pub fn named(name: &str) -> Option<Rung> {
        let mut all = Rung::ALL.into_iter();
        all.find(|rung| rung.name().eq_ignore_ascii_case(name))
    }

    /// The rung a `PerlResponseHandler` stands for; `None`: the site's own handler.
    pub fn of_handler(name: &str) -> Option<Rung> {
        let name = name.trim_start_matches(['+', '-']);
        let name = name.strip_suffix("::handler").unwrap_or(name);
        let name = name.strip_suffix("->handler").unwrap_or(name);
        Some(match name {
            "ModPerl::Registry"
            | "ModPerl::RegistryBB"
            | "ModPerl::RegistryPrefork"
            | "Apache::Registry"
            | "Apache::RegistryNG"
            | "Apache::RegistryBB"
            | "Mehari::Registry" => Rung::Registry,
            "ModPerl::PerlRun"
            | "ModPerl::PerlRunPrefork"
            | "Apache::PerlRun"
            | "Mehari::PerlRun" => Rung::PerlRun,
            "Mehari::Fork" => Rung::Fork,
            "Mehari::Auto" => Rung::Auto,
            _ => return None,
        })
    }
}

/// What answers a request.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handler {
    /// The file itself.
    File,
    /// The file is a program, run on this rung.
    Script(Rung),
    /// `PerlResponseHandler My::Module` under `SetHandler modperl` or `perl-script`.
    Perl {
        /// As written: `My::Module`, `My::Module::sub`, `My::Module->method`.
        name: String,
        /// `perl-script` (true) gives %ENV, STDIN and STDOUT; `modperl` (false) does not.
        perl_script: bool,
    },
    /// The server itself, about itself.
    Report(Report),
    /// `SetHandler psgi` with this application file.
    Psgi(PathBuf),
    /// A back end.
    Proxy(Arc<Proxied>),
}

impl Handler {
    pub(crate) fn perl(name: &str, perl_script: bool) -> Handler {
        Handler::Perl {
            name: name.to_string(),
            perl_script,
        }
    }
}

/// What the server says about itself, by its `SetHandler`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// `server-status`: Apache's page, and its `?auto`.
    Status,
    /// `server-info`: what stands in for modules, and the configuration as it was read.
    Info,
    /// `metrics`: for Prometheus and OpenMetrics collectors.
    Metrics,
    /// `health-live`: it answers.
    Live,
    /// `health-ready`: there are workers, and it is not stopping.
    Ready,
    /// `upload-progress`, `upload-progress-xml`, `upload-progress-json`.
    Uploads(UploadFormat),
}

/// How progress is written: as lighttpd 1.5 and nginx's module did, as lighttpd 1.4 did, as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UploadFormat {
    Script,
    Xml,
    Json,
}

impl Report {
    pub fn name(self) -> &'static str {
        match self {
            Report::Status => "server-status",
            Report::Info => "server-info",
            Report::Metrics => "metrics",
            Report::Live => "health-live",
            Report::Ready => "health-ready",
            Report::Uploads(UploadFormat::Script) => "upload-progress",
            Report::Uploads(UploadFormat::Xml) => "upload-progress-xml",
            Report::Uploads(UploadFormat::Json) => "upload-progress-json",
        }
    }
}

/// `registry`, `perl-script My::Module`, `psgi /srv/app.psgi`, `file`.
impl std::fmt::Display for Handler {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Handler::File => out.write_str("file"),
            Handler::Report(report) => out.write_str(report.name()),
            Handler::Script(rung) => write!(out, "script on the rung `{}`", rung.name()),
            Handler::Psgi(file) => write!(out, "psgi {}", file.display()),
            Handler::Proxy(proxied) => proxied.fmt(out),
            Handler::Perl {
                name,
                perl_script: true,
            } => write!(out, "perl-script {name}"),
            Handler::Perl { name, .. } => write!(out, "modperl {name}"),
        }
    }
}

/// The settings in force for one request, after every matching section has been merged.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Settings {
    /// The same for equal settings of one site, and never another's: what a worker knows them by.
    pub id: u32,
    /// `None`: decided by the file's name and mode (`Site::by_name`).
    pub handler: Option<Handler>,
    /// `AddHandler`: suffix without the dot, in lower case, and what runs such a file.
    pub add_handler: Vec<(String, Handler)>,
    /// `AddType`: suffix without the dot, in lower case, and the media type.
    pub add_type: Vec<(String, String)>,
    pub directory_index: Vec<String>,
    /// `Options ExecCGI`: scripts may run here.
    pub exec_cgi: bool,
    /// `PerlSendHeader On` / `PerlOptions +ParseHeaders`: what a script prints starts with its header
    /// block. See [`Settings::parses_headers`].
    pub parse_headers: bool,
    /// `PerlSetEnv`, `SetEnv`, `PassEnv` resolved, in order.
    pub set_env: Vec<(String, String)>,
    /// `PerlSetVar` / `PerlAddVar`: for `$r->dir_config`.
    pub set_var: Vec<(String, Vec<String>)>,
    /// What Perl has to do with a request besides answering it.
    pub perl: crate::PerlPart,
    /// `Options` beside ExecCGI.
    pub links: Links,
    /// `Options Indexes`: a folder without an index is listed.
    pub listed: bool,
    /// `Options MultiViews`.
    pub multi_views: bool,
    pub directory_slash: bool,
    /// `FallbackResource`: the URL path that answers where no file does.
    pub fallback: Option<String>,
    /// `None`: scripts take what lies behind them in the path, files do not.
    pub accept_path_info: Option<bool>,
    /// `CGIPassAuth`: programs see the client's password, or token, in HTTP_AUTHORIZATION.
    pub pass_authorization: bool,
    pub media: crate::Media,
    pub rules: crate::Rules,
    /// Which sections these are of, where `<If>` may change them further.
    #[serde(skip)]
    pub(crate) matching: crate::merge::Matching,
    /// Nobody may ask, whoever it is.
    pub denied: bool,
    /// Longest a request may run in Perl or a CGI program (`Timeout`).
    pub request_timeout: Duration,
    /// Largest request body, bytes (`LimitRequestBody`); 0 is no limit.
    pub body_limit: u64,
    /// `ErrorDocument`: status and a local path or a text.
    pub error_documents: Vec<(u16, String)>,
    pub proxy: ProxySettings,
    /// `MaxConcurrentReqs`, `ClientRequestRate`.
    pub traffic: Vec<crate::TrafficRule>,
    pub lua: crate::LuaSettings,
    /// Output filters.
    pub compression: crate::Compression,
    /// `CacheEnable` and what belongs to it.
    pub cache: crate::CacheRules,
    /// `TrackUploads`.
    pub track_uploads: bool,
    /// `CreateTraceParent`: a request that comes without one gets a traceparent.
    pub trace_parents: bool,
    /// `SSLRequireSSL`: without TLS it is answered 403.
    pub require_tls: bool,
    /// `SSLOptions +StdEnvVars`, `+ExportCertData`: what programs are told of the connection.
    pub tls_variables: bool,
    pub tls_certificates: bool,
    /// The header line of Strict-Transport-Security.
    pub strict_transport: Option<String>,
}

impl Settings {
    /// Whether a script on this rung prints its own header block. Under `registry` and `perlrun`
    /// it must be asked for, as in mod_perl; the other rungs are CGI's world, where it always does.
    pub fn parses_headers(&self, rung: Rung) -> bool {
        match rung {
            Rung::Registry | Rung::PerlRun => self.parse_headers,
            Rung::Cgi | Rung::Fork | Rung::Auto => true,
        }
    }
}

/// `Options FollowSymLinks` and `SymLinksIfOwnerMatch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    #[default]
    Followed,
    /// If the link and what it leads to belong to the same user.
    OfOneOwner,
    Refused,
}

/// `Options`, as bits.
pub mod option {
    pub const EXEC_CGI: u8 = 1;
    pub const FOLLOW: u8 = 2;
    pub const IF_OWNER: u8 = 4;
    pub const INDEXES: u8 = 8;
    pub const MULTI_VIEWS: u8 = 16;
    pub const INCLUDES: u8 = 32;
}

/// What `AllowOverride` lets a .htaccess say, as bits.
pub mod overrides {
    pub const AUTH: u8 = 1;
    pub const FILE_INFO: u8 = 2;
    pub const INDEXES: u8 = 4;
    pub const LIMIT: u8 = 8;
    pub const OPTIONS: u8 = 16;
    pub const ALL: u8 = 31;
}

/// A section of the configuration and what it changes.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Section {
    pub scope: Scope,
    /// The `<Directory>` this `<Files>` stands in.
    pub within: Option<PathBuf>,
    /// Applied in order by [`Site::settings`].
    pub changes: Vec<crate::Change>,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum Scope {
    /// `<Location /path>`: URL path prefix on segment boundaries.
    Location(String),
    /// `<Directory /path>`: file-system prefix on segment boundaries.
    Directory(PathBuf),
    /// `<Files name>`: last segment of the file name; `*` and `?` match.
    Files(String),
    /// `<LocationMatch regex>` or `<Location ~ regex>`: anywhere in the URL path.
    LocationMatch(crate::Pattern),
    /// `<DirectoryMatch regex>`: anywhere in the path of the file's folder.
    DirectoryMatch(crate::Pattern),
    /// `<FilesMatch regex>`: anywhere in the last segment of the file name.
    FilesMatch(crate::Pattern),
}

/// `Alias /url /path`, `ScriptAlias /url /path`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Alias {
    /// A URL path, or with `AliasMatch` a regular expression.
    pub url: String,
    /// `AliasMatch`: what the path must match, and the path with `$1` and so on.
    pub matching: Option<(crate::Pattern, crate::Text)>,
    pub path: PathBuf,
    /// `ScriptAlias`: everything under it is a CGI program.
    pub script: bool,
}

#[derive(Debug, Clone, serde::Serialize)]
pub struct PerlSettings {
    /// `PerlInterpreter`: the perl to run.
    pub interpreter: PathBuf,
    /// `PerlSwitches`: -w, -T, -Idir, -Mmodule, as words.
    pub switches: Vec<String>,
    pub preloads: Vec<Preloaded>,
    /// `PerlPassEnv` names; `PerlSetEnv` at server level.
    pub pass_env: Vec<String>,
    pub set_env: Vec<(String, String)>,
}

/// `StartServers` and its family. A number that was not configured is `None`: the pool decides and says why.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct WorkerPolicy {
    pub start: Option<u32>,
    pub min_spare: Option<u32>,
    pub max_spare: Option<u32>,
    /// `MaxRequestWorkers`, alias `MaxClients`.
    pub max: Option<u32>,
    /// `MaxConnectionsPerChild`, alias `MaxRequestsPerChild`: requests a worker serves, +-20 %; `None` or 0 is no limit.
    pub max_requests: Option<u32>,
    /// `WorkerQueue`: requests that may wait for a worker.
    pub queue: u32,
    /// `WorkerQueueTimeout`: how long one may wait.
    pub queue_timeout: Duration,
    /// `WorkerDepth`: requests a worker may hold that it has not begun, 1 to 4.
    pub depth: u32,
    /// `GracefulShutdownTimeout`: how long a stop waits for requests under way.
    pub stop_timeout: Duration,
}

/// What a connection may cost.
/// How fast a client has to send: so many bytes buy it another second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct MinimumRate {
    /// Bytes a second; 0 buys nothing.
    pub bytes: u64,
    /// In all, however fast. `None`: as long as it keeps the rate.
    pub longest: Option<Duration>,
}

impl MinimumRate {
    /// How long may be taken in all, when `first` is given and so many bytes have come.
    pub fn allowance(&self, first: Duration, received: u64) -> Duration {
        let bought = received.saturating_mul(1000).checked_div(self.bytes);
        let bought = Duration::from_millis(bought.unwrap_or(0));
        let all = first.saturating_add(bought);
        self.longest.map_or(all, |longest| all.min(longest))
    }
}

#[derive(Debug, Clone, serde::Serialize)]
pub struct ConnectionLimits {
    /// `LimitRequestLine`, bytes.
    pub request_line: usize,
    /// `LimitRequestFields`.
    pub fields: usize,
    /// `LimitRequestFieldSize`, bytes.
    pub field_size: usize,
    /// All of the header block, bytes.
    pub header_size: usize,
    /// `RequestReadTimeout handshake=`: until TLS stands.
    pub handshake_timeout: Duration,
    /// `RequestReadTimeout header=`.
    pub header_timeout: Duration,
    /// Its `MinRate=`.
    pub header_rate: MinimumRate,
    /// `RequestReadTimeout body=`: without a byte for this long the request is given up.
    pub body_timeout: Duration,
    pub body_rate: MinimumRate,
    /// Without the client taking a byte for this long the connection is closed (`Timeout`).
    pub write_timeout: Duration,
    /// `KeepAliveTimeout`; `None` is `KeepAlive Off`.
    pub keep_alive: Option<Duration>,
    /// `MaxKeepAliveRequests`; 0 is no limit.
    pub keep_alive_requests: u64,
    /// `MaxConnections`: open client connections.
    pub connections: usize,
    /// `RemoteIPProxyProtocol`.
    pub proxy_protocol: bool,
    /// `MaxConnectionsPerClient`; 0 is no limit.
    pub connections_per_client: u32,
    /// `ListenBacklog`.
    pub backlog: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogTarget {
    Stderr,
    Off,
    File(PathBuf),
    /// A program that is given the lines on its standard input.
    Pipe(LogProgram),
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LogProgram {
    pub command: String,
    /// `|$command`: the shell reads it.
    pub by_shell: bool,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessFormat {
    Combined,
    Json,
    Custom(
        #[serde(serialize_with = "crate::log_format::as_text")] std::sync::Arc<crate::LogFormat>,
    ),
}

impl AccessFormat {
    pub fn needs(&self) -> crate::LogNeeds {
        match self {
            AccessFormat::Custom(format) => format.needs(),
            _ => crate::LogNeeds::default(),
        }
    }
}

/// One `CustomLog`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct AccessLogSettings {
    pub target: LogTarget,
    pub format: AccessFormat,
    /// `env=NAME` (true: it is set) or `env=!NAME`.
    pub condition: Option<(bool, String)>,
}

impl AccessLogSettings {
    pub fn combined(target: LogTarget) -> AccessLogSettings {
        AccessLogSettings {
            target,
            format: AccessFormat::Combined,
            condition: None,
        }
    }
}

#[derive(Debug, Clone, serde::Serialize)]
pub struct LogSettings {
    /// Each is given every request; empty: there is no access log.
    pub access: Vec<AccessLogSettings>,
    pub error: LogTarget,
    pub level: LogLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Emerg,
    Alert,
    Crit,
    Error,
    Warn,
    Notice,
    Info,
    Debug,
}

/// Everything `mehari serve` needs to know.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Site {
    /// In order. Empty: the command line's default.
    pub listen: Vec<crate::Listen>,
    pub server_root: PathBuf,
    /// `AccessFileName`.
    pub access_files: Vec<String>,
    /// `User` and `Group`, as written.
    pub user: Option<String>,
    pub group: Option<String>,
    /// Names of `-D` and `Define`, for .htaccess files.
    #[serde(skip)]
    pub defines: std::collections::BTreeMap<String, String>,
    /// Directives of Perl modules, for .htaccess files.
    #[serde(skip)]
    pub(crate) custom: Vec<Arc<crate::CustomDirective>>,
    /// The lines as they were read, with the file and number of each, for Apache2::Directive.
    #[serde(skip)]
    pub tree: String,
    /// `PidFile`.
    pub pid_file: Option<PathBuf>,
    /// What answers when no virtual host does, and what they go on from.
    #[serde(flatten)]
    pub main: crate::Host,
    /// `<VirtualHost>`, in order. Host number N of a site is `hosts[N - 1]`; 0 is `main`.
    pub hosts: Vec<crate::Host>,
    /// `--listen` chose the addresses: the ports of `<VirtualHost>` are not compared.
    pub any_port: bool,
    /// Back ends of all hosts, by name.
    pub upstreams: Vec<Upstream>,
    /// How those of `https://` are met.
    pub proxy_tls: crate::ProxyTls,
    /// Zero-configuration mode: `*.pl`, `*.cgi` and executable files with a perl shebang run on this rung.
    pub by_name: Option<Rung>,
    pub perl: PerlSettings,
    pub workers: WorkerPolicy,
    pub limits: ConnectionLimits,
    /// Who is believed about clients behind them.
    pub remote_address: Option<crate::RemoteAddress>,
    /// Where compressed files are kept.
    pub variants: crate::VariantStore,
    /// Where responses are kept.
    pub cache: crate::CacheStore,
    pub logs: LogSettings,
    /// The configuration files read, for `--watch` and for reload.
    pub files: Vec<PathBuf>,
    /// What became of each directive read; remarks and ignored ones are worth a log line at start.
    pub notes: Vec<crate::Note>,
}
