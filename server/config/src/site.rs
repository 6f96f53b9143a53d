//! The typed configuration that the rest of the server reads.
//!
//! The parser, the command line and the zero-configuration mode fill a [`Site`]. This module knows
//! no httpd.conf syntax, HTTP or Perl.

use std::path::PathBuf;
use std::time::Duration;

use crate::{
    ConnectionLimits, Handler, LogSettings, PerlSettings, ProxySettings, Rung, Team, Upstream,
};

/// The settings for one request, after all matching sections have been merged. Each part names its
/// readers.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Settings {
    /// Equal settings of one site have the same number. Settings of two sites never have. Workers
    /// identify settings by it.
    pub id: u32,
    #[serde(flatten)]
    pub handlers: HandlerSettings,
    #[serde(flatten)]
    pub files: FileSettings,
    #[serde(flatten)]
    pub programs: ProgramSettings,
    #[serde(flatten)]
    pub limits: RequestLimits,
    #[serde(flatten)]
    pub output: OutputSettings,
    #[serde(flatten)]
    pub tls: TlsRules,
    #[serde(flatten)]
    pub tracking: Tracking,
    /// Perl's part besides the response.
    pub perl: crate::PerlPart,
    pub media: crate::Media,
    pub rules: crate::Rules,
    /// The rules refuse every request.
    pub denied: bool,
    /// `ErrorDocument`: status and a local path or a text.
    pub error_documents: Vec<(u16, String)>,
    pub proxy: ProxySettings,
    pub lua: crate::LuaSettings,
    /// `CacheEnable` and its settings.
    pub cache: crate::CacheRules,
    /// The merged sections, from which `<If>` continues.
    #[serde(skip)]
    pub(crate) matching: crate::merge::Matching,
}

/// The handlers. The router reads them.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct HandlerSettings {
    /// `SetHandler`. `None`: the file's name and mode decide (`Site::by_name`).
    #[serde(rename = "handler")]
    pub set: Option<Handler>,
    /// `AddHandler`: the suffix without the dot, in lower case, and its handler.
    #[serde(rename = "add_handler")]
    pub by_suffix: Vec<(String, Handler)>,
    /// `Options ExecCGI`: scripts may run here.
    pub exec_cgi: bool,
}

/// The mapping to files and their sending. The router and the file handler read it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct FileSettings {
    /// `AddType`: suffix without the dot, in lower case, and the media type.
    #[serde(rename = "add_type")]
    pub types: Vec<(String, String)>,
    pub directory_index: Vec<String>,
    /// `Options FollowSymLinks` and its like.
    pub links: Links,
    /// `Options Indexes`: a folder without an index has a listing.
    pub listed: bool,
    /// `Options MultiViews`.
    pub multi_views: bool,
    pub directory_slash: bool,
    /// Whether large files are read and written instead of sent from the page cache.
    #[serde(rename = "copy_files")]
    pub copied: bool,
    /// `FallbackResource`: the URL path that answers if there is no file.
    pub fallback: Option<String>,
    /// `None`: scripts take the rest of the path, other files do not.
    pub accept_path_info: Option<bool>,
}

impl Default for FileSettings {
    fn default() -> FileSettings {
        FileSettings {
            types: Vec::new(),
            directory_index: Vec::new(),
            links: Links::Followed,
            listed: false,
            multi_views: false,
            directory_slash: true,
            copied: false,
            fallback: None,
            accept_path_info: None,
        }
    }
}

/// What a program learns besides the request. The handlers that run programs read it.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct ProgramSettings {
    /// `PerlSendHeader On` / `PerlOptions +ParseHeaders`: a script's output begins with a header
    /// block. See [`Settings::parses_headers`].
    pub parse_headers: bool,
    /// The resolved `PerlSetEnv`, `SetEnv` and `PassEnv`, in order.
    pub set_env: Vec<(String, String)>,
    /// The names in `set_env` that `PerlSetEnv` and `PerlPassEnv` set: Perl alone sees them.
    pub perl_env: Vec<String>,
    /// `PerlSetVar` / `PerlAddVar`: for `$r->dir_config`.
    pub set_var: Vec<(String, Vec<String>)>,
    /// `CGIPassAuth`: programs see the client's credentials in HTTP_AUTHORIZATION.
    pub pass_authorization: bool,
    /// `SSLOptions +StdEnvVars`: programs see the variables of the TLS connection.
    pub tls_variables: bool,
    /// `SSLOptions +ExportCertData`: programs see the certificates.
    pub tls_certificates: bool,
}

/// Limits of one request.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct RequestLimits {
    /// The longest time a request may run in Perl or a CGI program (`Timeout`).
    #[serde(rename = "request_timeout")]
    pub timeout: Duration,
    /// The largest request body in bytes (`LimitRequestBody`). 0 means no limit.
    #[serde(rename = "body_limit")]
    pub body: u64,
    /// `MaxConcurrentReqs`, `ClientRequestRate`.
    pub traffic: Vec<crate::TrafficRule>,
}

/// The output filters.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct OutputSettings {
    pub compression: crate::Compression,
    pub includes: crate::Includes,
}

/// TLS requirements of a location, and what it tells clients about TLS.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct TlsRules {
    /// `SSLRequireSSL`: requests without TLS get 403.
    #[serde(rename = "require_tls")]
    pub required: bool,
    /// The header line of Strict-Transport-Security.
    pub strict_transport: Option<String>,
}

/// Tracing and upload progress.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Tracking {
    /// `TrackUploads`.
    #[serde(rename = "track_uploads")]
    pub uploads: bool,
    /// `CreateTraceParent`: a request without a traceparent gets one.
    pub trace_parents: bool,
}

impl Settings {
    /// Whether a script on this rung prints its own header block. `registry` and `perlrun` need the
    /// option, as in mod_perl. On the other rungs, which follow CGI, it always does.
    pub fn parses_headers(&self, rung: Rung) -> bool {
        match rung {
            Rung::Registry | Rung::PerlRun => self.programs.parse_headers,
            Rung::Cgi | Rung::Fork | Rung::Rewind | Rung::Auto => true,
        }
    }
}

/// `Options FollowSymLinks` and `SymLinksIfOwnerMatch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    #[default]
    Followed,
    /// Only if the link and its target have the same owner.
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
    /// `Includes`. `IncludesNOEXEC` is `INCLUDES` alone.
    pub const INCLUDES_EXEC: u8 = 64;
}

/// The classes of `AllowOverride`, as bits.
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
    /// The enclosing `<Directory>` or `<DirectoryMatch>` of a `<Files>`.
    pub within: Option<Scope>,
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
    /// `AliasMatch`: the pattern, and the path with `$1` and so on.
    pub matching: Option<(crate::Pattern, crate::Text)>,
    pub path: PathBuf,
    /// `ScriptAlias`: everything below is a CGI program.
    pub script: bool,
}

/// The whole configuration of `mehari serve`.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Site {
    /// In order. Empty: the command line's default.
    pub listen: Vec<crate::Listen>,
    /// `--listen` chose the addresses: the ports of `<VirtualHost>` are not compared.
    pub any_port: bool,
    pub server_root: PathBuf,
    /// `AccessFileName`.
    pub access_files: Vec<String>,
    #[serde(flatten)]
    pub process: ProcessSettings,
    #[serde(flatten)]
    pub source: Source,
    #[serde(flatten)]
    pub back_ends: BackEnds,
    #[serde(flatten)]
    pub stores: Stores,
    /// For .htaccess files.
    #[serde(skip)]
    pub definitions: crate::Definitions,
    /// What answers when no virtual host does; virtual hosts inherit from it.
    #[serde(flatten)]
    pub main: crate::Host,
    /// `<VirtualHost>`, in order. Host number N of a site is `hosts[N - 1]`; 0 is `main`.
    pub hosts: Vec<crate::Host>,
    /// Zero-configuration mode: `*.pl`, `*.cgi` and executable files with a perl shebang run on
    /// this rung.
    pub by_name: Option<Rung>,
    /// The main server's Perl, then those of the hosts with `PerlOptions +Parent`.
    pub perls: Vec<PerlSettings>,
    /// The main server's workers, then those of the hosts with `+Clone` or `+Parent`.
    pub teams: Vec<Team>,
    pub limits: ConnectionLimits,
    /// The proxies whose word about their clients is believed.
    pub remote_address: Option<crate::RemoteAddress>,
    pub logs: LogSettings,
}

/// The server's process; the command line reads it at start and at reload.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct ProcessSettings {
    /// `User`, as written.
    pub user: Option<String>,
    /// `Group`, as written.
    pub group: Option<String>,
    /// `PidFile`.
    pub pid_file: Option<PathBuf>,
}

/// Where the site was read from.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Source {
    /// The configuration files read, for `--watch` and for reload.
    pub files: Vec<PathBuf>,
    /// The result of each directive. The start logs remarks and ignored directives.
    pub notes: Vec<crate::Note>,
    /// The lines as they were read, with the file and number of each, for Apache2::Directive.
    #[serde(skip)]
    pub tree: String,
}

/// The back ends of all hosts.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct BackEnds {
    /// By name.
    pub upstreams: Vec<Upstream>,
    /// The TLS of `https://` back ends.
    #[serde(rename = "proxy_tls")]
    pub tls: crate::ProxyTls,
}

/// Where the front keeps what it may send again.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Stores {
    /// Compressed files.
    pub variants: crate::VariantStore,
    /// Responses.
    pub cache: crate::CacheStore,
}
