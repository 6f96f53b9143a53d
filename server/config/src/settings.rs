//! The settings for one request, and how the changes of a section alter them.
//!
//! [`crate::Host::settings`] merges the settings. The front reads them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::{Handler, ProxySettings, Rung};

mod links;
mod lua;
mod media;
mod negotiation;
mod perl;
mod rewriting;
mod rules;
mod words;

pub use links::Links;
pub use lua::LuaSettings;
pub use media::Media;
pub use negotiation::Negotiation;
pub(crate) use perl::WorkerRecords;
pub use perl::{EncodedSettings, PerlPart, PlaceRules};
pub use rewriting::Rewriting;
pub use rules::{HostRules, Rules};
pub(crate) use words::{put, HandlerWords};

/// The settings for one request, after all matching sections have been merged.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Settings {
    /// The number by which workers identify these settings. Equal settings of one site have the
    /// same number. Settings of different sites have different numbers.
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
    /// Perl's part of the settings, except for the response handler.
    pub perl: PerlPart,
    pub media: Media,
    pub negotiation: Negotiation,
    pub rules: Rules,
    /// Whether the rules refuse every request.
    pub denied: bool,
    /// `ErrorDocument`: the status, and a local path, a URL or a text. They may have variables of
    /// expressions (`%{NAME}`).
    pub error_documents: Vec<(u16, String)>,
    pub proxy: ProxySettings,
    pub lua: LuaSettings,
    /// `CacheEnable` and its settings.
    pub cache: crate::CacheRules,
    /// The state after merging, to which the changes of `<If>` sections are added.
    #[serde(skip)]
    pub(crate) matching: Matching,
}

/// The handlers of a location. The router reads them.
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

/// How URL paths become files, and how files are sent. The router and the file handler read these
/// settings.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct FileSettings {
    /// `AddType`: the suffix without the dot, in lower case, and the media type.
    #[serde(rename = "add_type")]
    pub types: Vec<(String, String)>,
    pub directory_index: Vec<String>,
    /// `Options FollowSymLinks` and the like.
    pub links: Links,
    /// `Options Indexes`: a folder without an index file is answered with a listing.
    pub listed: bool,
    /// `Options MultiViews`.
    pub multi_views: bool,
    pub directory_slash: bool,
    /// `DirectoryIndexRedirect`: the status with which a folder redirects to its index. `None`: the
    /// index itself is sent.
    pub index_redirect: Option<u16>,
    /// `FileETag`, as bits of [`etag_part`]. [`FileSettings::etag_parts`] says what 0 means.
    pub(crate) etag: u8,
    /// `EnableSendfile Off`: whether large files are read and written instead of sent with
    /// sendfile(2).
    #[serde(rename = "copy_files")]
    pub copied: bool,
    #[serde(rename = "range_limits")]
    pub ranges: crate::RangeLimits,
    /// `FallbackResource`: the URL path that answers if there is no file.
    pub fallback: Option<String>,
    /// `AcceptPathInfo`. `None`: scripts take the rest of the path, and other files do not.
    pub accept_path_info: Option<bool>,
    /// `IndexIgnore` and `IndexOptions`.
    #[serde(skip_serializing_if = "crate::ListingSettings::is_default")]
    pub listings: crate::ListingSettings,
    /// `CheckSpelling` and its kin.
    #[serde(skip_serializing_if = "crate::Spelling::is_default")]
    pub spelling: crate::Spelling,
}

impl Default for FileSettings {
    fn default() -> FileSettings {
        FileSettings {
            types: Vec::new(),
            directory_index: Vec::new(),
            links: Links::default(),
            listed: false,
            multi_views: false,
            directory_slash: true,
            index_redirect: None,
            etag: 0,
            copied: false,
            ranges: crate::RangeLimits::default(),
            fallback: None,
            accept_path_info: None,
            listings: crate::ListingSettings::default(),
            spelling: crate::Spelling::default(),
        }
    }
}

impl FileSettings {
    /// Returns the parts of a file's entity tag, as bits of [`etag_part`]. 0: the file has none.
    pub fn etag_parts(&self) -> u8 {
        match self.etag {
            0 => etag_part::MODIFIED | etag_part::SIZE,
            parts => parts & !etag_part::NONE,
        }
    }
}

/// What a program learns besides the request. The handlers that run programs read these settings.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct ProgramSettings {
    /// `PerlSendHeader On` / `PerlOptions +ParseHeaders`: a script's output begins with a header
    /// block. See [`Settings::parses_headers`].
    pub parse_headers: bool,
    /// The resolved `SetEnv` and `PassEnv`, in order. As in Apache, they are set after the rules of
    /// the place.
    pub set_env: Vec<(String, String)>,
    /// The resolved `PerlSetEnv` and `PerlPassEnv`, in order. They are set when the first Perl
    /// handler runs (see [`crate::Host::perl_env`]).
    pub perl_env: Vec<(String, String)>,
    /// `PerlSetVar` and `PerlAddVar`: the variables of `$r->dir_config`, with their values.
    pub set_var: Vec<(String, Vec<String>)>,
    /// `LogLevel` of a section: the least severe level of the lines of programs in the error log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<crate::LogLevel>,
    /// `LogLevel perl:LEVEL`: the same for Perl code, which does not heed `log_level` then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perl_log_level: Option<crate::LogLevel>,
    /// `CGIPassAuth`: programs get the client's credentials in HTTP_AUTHORIZATION.
    pub pass_authorization: bool,
    /// `RLimitCPU` and the like: the limits of CGI programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub process_limits: Vec<(crate::LimitedResource, crate::ProcessLimit)>,
    /// `PerlIsolation rewind`: the process of a handler or an application is rewound after each
    /// request.
    pub rewound: bool,
    /// `PerlPool`: the pool whose workers run Perl. `None`: the host's own workers do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<Arc<crate::AssignedPool>>,
    /// `SSLOptions +StdEnvVars`: programs get the variables of the TLS connection.
    pub tls_variables: bool,
    /// `SSLOptions +ExportCertData`: programs get the certificates of the TLS connection.
    pub tls_certificates: bool,
}

/// Limits of one request.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct RequestLimits {
    /// The longest time a request may run in Perl or a CGI program (`Timeout`).
    #[serde(rename = "request_timeout")]
    pub timeout: Duration,
    /// `SlowRequestTime`: a request that has run for longer writes its Perl stack to the log.
    #[serde(rename = "slow_request_time")]
    pub slow: Option<Duration>,
    /// The largest request body in bytes (`LimitRequestBody`). 0 means no limit.
    #[serde(rename = "body_limit")]
    pub body: u64,
    /// `MaxConcurrentReqs`, `ClientRequestRate`.
    pub traffic: Vec<crate::TrafficRule>,
}

/// The output filters of a location.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct OutputSettings {
    pub compression: crate::Compression,
    pub includes: crate::Includes,
    pub substitutions: crate::Substitutions,
}

/// The TLS requirements of a location, and the field by which it tells clients to use TLS.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct TlsRules {
    /// `SSLRequireSSL`: requests without TLS get 403.
    #[serde(rename = "require_tls")]
    pub required: bool,
    /// `SSLUserName`: the variable of the TLS connection that names the user.
    pub user_name: Option<String>,
    /// The field line Strict-Transport-Security.
    pub strict_transport: Option<String>,
}

/// The settings of tracing and of upload progress.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Tracking {
    /// `TrackUploads`: the progress of uploads is reported.
    #[serde(rename = "track_uploads")]
    pub uploads: bool,
    /// `CreateTraceParent`: a request without a field traceparent gets this field.
    pub trace_parents: bool,
    /// `ServerTiming`: the clients that get the times of a request's stages.
    pub server_timing: crate::ServerTiming,
}

impl Settings {
    /// Returns these settings with the handler that Perl has chosen. As in Apache, a name that
    /// nothing handles leaves the file to the default handler.
    pub fn with_handler(&self, handler: &Handler) -> Settings {
        let is_known = |name: &String| self.media.actions.iter().any(|(known, _)| known == name);
        let set = match handler {
            Handler::Named(name) if !is_known(name) => Handler::File,
            handler => handler.clone(),
        };
        let mut settings = self.clone();
        settings.handlers.set = Some(set);
        settings
    }

    /// Tells whether a script on this rung prints its own header block. On `registry` and
    /// `perlrun`, scripts do so only with the option, as in mod_perl. On the other rungs, which
    /// follow CGI, scripts always do so.
    pub fn parses_headers(&self, rung: Rung) -> bool {
        match rung {
            Rung::Registry | Rung::PerlRun => self.programs.parse_headers,
            Rung::Cgi | Rung::Fork | Rung::Rewind | Rung::Auto => true,
        }
    }
}

/// The words of `FileETag`, as bits.
pub mod etag_part {
    pub const INODE: u8 = 1;
    pub const MODIFIED: u8 = 2;
    pub const SIZE: u8 = 4;
    pub const NONE: u8 = 8;
}

/// The state to which the changes of `<If>` sections are added: the merged sections, and the
/// handler names after merging.
#[derive(Debug, Clone, Default)]
pub struct Matching(pub(crate) Option<Arc<Merger>>);

#[derive(Debug)]
pub(crate) struct Merger {
    pub key: Box<[u64]>,
    pub words: HandlerWords,
}

impl PartialEq for Matching {
    fn eq(&self, other: &Matching) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }
}

impl Settings {
    /// Applies the changes of rules that depend on the request, and sets what follows from them.
    pub(crate) fn change_rules(
        &mut self,
        changes: &[crate::Change],
        folder: Option<&Path>,
        in_section: bool,
    ) {
        self.rules.apply(changes, folder, in_section);
        self.denied = self.rules.denied() == Some(true);
    }
}
