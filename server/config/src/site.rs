//! The typed configuration of a server, which all other crates read.
//!
//! The parser, the command line and the zero-configuration mode fill a [`Site`]. This module knows
//! no httpd.conf syntax, HTTP or Perl.

use std::path::{Path, PathBuf};

use crate::{ConnectionLimits, LogSettings, PerlSettings, Rung, Team, Upstream};

mod hosts;
mod logs;
mod lua;
pub(crate) mod managed_hosts;
mod pushed;
mod teams;
mod tls;
mod zygote_encoding;

/// The whole configuration of `mehari serve`.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Site {
    /// The addresses of `Listen`, in order. Empty: the command line's default applies.
    pub listen: Vec<crate::Listen>,
    /// Whether `--listen` chose the addresses. The ports of `<VirtualHost>` are then not compared.
    pub any_port: bool,
    /// `SSLVHostSNIPolicy`.
    pub sni_policy: crate::SniPolicy,
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
    /// The definitions with which the reading of a .htaccess file starts.
    #[serde(skip)]
    pub definitions: crate::Definitions,
    /// The main server, which serves the requests that are for no virtual host. Virtual hosts
    /// inherit its settings.
    #[serde(flatten)]
    pub main: crate::Host,
    /// The virtual hosts, in the order of the files. The host with number N is `hosts[N - 1]`.
    /// Number 0 is `main`.
    pub hosts: Vec<crate::Host>,
    /// Zero-configuration mode: `*.pl`, `*.cgi` and executable files with a perl shebang run on
    /// this rung.
    pub by_name: Option<Rung>,
    /// The main server's Perl, then the Perls of the pools, and of the hosts with `PerlOptions
    /// +Parent`.
    pub perls: Vec<PerlSettings>,
    /// The main server's team, then the teams of the pools, and of the hosts with `PerlOptions
    /// +Clone` or `+Parent`.
    pub teams: Vec<Team>,
    /// The certificates that the server requests by itself.
    pub managed: crate::ManagedCertificates,
    pub limits: ConnectionLimits,
    /// The proxies that are trusted to name their clients.
    pub remote_address: Option<crate::RemoteAddress>,
    /// Whether a line of `ServerTiming` permits clients. Otherwise no request is timed for it.
    #[serde(skip)]
    pub times_stages: bool,
    pub logs: LogSettings,
}

/// The settings of the server's process. The command line reads them at start and at reload.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct ProcessSettings {
    /// `User`, as written.
    pub user: Option<String>,
    /// `Group`, as written.
    pub group: Option<String>,
    /// `PidFile`.
    pub pid_file: Option<PathBuf>,
    /// `FrontThreads`. `None`: `Auto`.
    pub front_threads: Option<usize>,
    /// `ProfileAlways`.
    pub profile_rate: Option<u32>,
    /// `ProfileFolder`.
    pub profile_folder: Option<PathBuf>,
    /// `ProfileLimit`.
    pub profile_limit: Option<u64>,
    /// `TraceExport`.
    pub trace_export: Option<crate::TraceExport>,
}

/// How the server samples its Perl all the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlwaysProfiled {
    /// Samples a second of each process.
    pub rate: u32,
    pub folder: PathBuf,
    /// The most bytes of the folder.
    pub limit: u64,
}

impl ProcessSettings {
    /// Returns the number of threads that help the front's own thread.
    pub fn helping_threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
        self.front_threads.unwrap_or_else(cores).saturating_sub(1)
    }

    /// Returns the settings of `ProfileAlways` and its relatives. `None`: no `ProfileAlways`.
    pub fn always_profiled(&self, server_root: &Path) -> Option<AlwaysProfiled> {
        const LIMIT: u64 = 64 << 20;
        let folder = self.profile_folder.clone();
        Some(AlwaysProfiled {
            rate: self.profile_rate?,
            folder: folder.unwrap_or_else(|| server_root.join("logs/profile")),
            limit: self.profile_limit.unwrap_or(LIMIT),
        })
    }
}

/// The text from which the site was read.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Source {
    /// The configuration files read, for `--watch` and for reload.
    pub files: Vec<PathBuf>,
    /// The result of each directive. The server logs remarks and ignored directives when it starts.
    pub notes: Vec<crate::Note>,
    /// The lines that were read, each with its file and its number, for Apache2::Directive.
    #[serde(skip)]
    pub tree: String,
}

/// The back ends of all hosts.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct BackEnds {
    /// The back ends by name.
    pub upstreams: Vec<Upstream>,
    /// The named parts of health checks.
    pub checks: crate::NamedChecks,
    /// The TLS of `https://` back ends.
    #[serde(rename = "proxy_tls")]
    pub tls: crate::ProxyTls,
}

/// The stores of responses and files that the front may send again.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Stores {
    /// The store of compressed files.
    pub variants: crate::VariantStore,
    /// The store of the response cache.
    pub cache: crate::CacheStore,
}

impl Site {
    /// Returns the upstream with this name.
    pub fn upstream(&self, name: &str) -> Option<&Upstream> {
        self.back_ends
            .upstreams
            .iter()
            .find(|upstream| upstream.name == name)
    }
}
