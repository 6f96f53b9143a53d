//! The handlers, and the rungs on which Perl runs.

use std::path::PathBuf;
use std::sync::Arc;

use crate::Proxied;

/// How a piece of Perl runs. See docs/explanation/ladder.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rung {
    /// One process per request: any executable, CGI/1.1.
    Cgi,
    /// In a process forked from the script's template, for one request.
    Fork,
    /// In a process forked from the script's template. The process is rewound after each request.
    Rewind,
    /// In a worker: the script is compiled for each request, and its namespace is cleared
    /// afterwards.
    PerlRun,
    /// In a worker: the script is compiled once and called for each request.
    Registry,
    /// `Rewind` if the script can be rewound and there is room for its picture, else `Fork`.
    Auto,
}

impl Rung {
    pub const ALL: [Rung; 6] = [
        Rung::Cgi,
        Rung::Fork,
        Rung::Rewind,
        Rung::PerlRun,
        Rung::Registry,
        Rung::Auto,
    ];

    /// Returns the name on the command line and in `PerlPreloadScript`.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Cgi => "cgi",
            Rung::Fork => "fork",
            Rung::Rewind => "rewind",
            Rung::PerlRun => "perlrun",
            Rung::Registry => "registry",
            Rung::Auto => "auto",
        }
    }

    pub fn named(name: &str) -> Option<Rung> {
        let mut all = Rung::ALL.into_iter();
        all.find(|rung| rung.name().eq_ignore_ascii_case(name))
    }

    /// Returns the rung that a `PerlResponseHandler` names. `None`: the name is that of a handler
    /// of the site.
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
            "Mehari::Rewind" => Rung::Rewind,
            "Mehari::Auto" => Rung::Auto,
            _ => return None,
        })
    }
}

/// The handler of a request.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handler {
    /// The file itself.
    File,
    /// The file is a program and runs on this rung.
    Script(Rung),
    /// `PerlResponseHandler My::Module` under `SetHandler modperl` or `perl-script`.
    Perl {
        /// The name as written: `My::Module`, `My::Module::sub`, `My::Module->method`.
        name: String,
        /// Whether the handler is `perl-script`, with which the Perl code gets %ENV, STDIN and
        /// STDOUT. With `modperl` (false) it does not get them.
        perl_script: bool,
    },
    /// The server's report about itself.
    Report(Report),
    /// `SetHandler psgi` with this application file.
    Psgi(PathBuf),
    /// A back end.
    Proxy(Arc<Proxied>),
    /// `type-map`: the file lists variants, and the server sends one of them.
    TypeMap,
    /// A name that an `Action` maps to a program.
    Named(String),
}

impl Handler {
    pub(crate) fn perl(name: &str, perl_script: bool) -> Handler {
        Handler::Perl {
            name: name.to_string(),
            perl_script,
        }
    }
}

impl Handler {
    /// Returns the handler of a name that Perl has given to a request (`$r->handler`).
    pub fn of_name(name: &str) -> Handler {
        let mut reports = [Report::Status, Report::Info, Report::Metrics].into_iter();
        match name {
            "cgi-script" => Handler::Script(Rung::Cgi),
            "type-map" | "application/x-type-map" => Handler::TypeMap,
            "default-handler" => Handler::File,
            name => match reports.find(|report| report.name() == name) {
                Some(report) => Handler::Report(report),
                None => Handler::Named(name.to_string()),
            },
        }
    }
}

/// The server's reports about itself, each with its `SetHandler`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// `server-status`: Apache's page, also with `?auto`.
    Status,
    /// `server-info`: the replaced modules, and the configuration as read.
    Info,
    /// `metrics`: for Prometheus and OpenMetrics collectors.
    Metrics,
    /// `health-live`: the server responds.
    Live,
    /// `health-ready`: there are workers, and the server is not stopping.
    Ready,
    /// `upload-progress`, `upload-progress-xml`, `upload-progress-json`.
    Uploads(UploadFormat),
}

/// The format in which upload progress is reported.
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

/// Prints the handler as `registry`, `perl-script My::Module`, `psgi /srv/app.psgi` or `file`.
impl std::fmt::Display for Handler {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Handler::File => out.write_str("file"),
            Handler::Report(report) => out.write_str(report.name()),
            Handler::Script(rung) => write!(out, "script on the rung `{}`", rung.name()),
            Handler::Psgi(file) => write!(out, "psgi {}", file.display()),
            Handler::Proxy(proxied) => proxied.fmt(out),
            Handler::TypeMap => out.write_str("type-map"),
            Handler::Named(name) => write!(out, "the Action of {name}"),
            Handler::Perl {
                name,
                perl_script: true,
            } => write!(out, "perl-script {name}"),
            Handler::Perl { name, .. } => write!(out, "modperl {name}"),
        }
    }
}

/// The handler that `SetHandler` or `AddHandler` names. The name becomes a [`Handler`] after all
/// sections have been merged, because `PerlResponseHandler` and `PSGIApp` may stand in another
/// section.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HandlerName {
    /// `default-handler`: the file itself.
    File,
    CgiScript,
    Report(crate::Report),
    PerlScript,
    Modperl,
    Psgi,
    /// `proxy:URL`, or a `ProxyPass` of the section.
    Proxy(Arc<Proxied>),
    TypeMap,
    /// A name that an `Action` maps to a program.
    Named(String),
    /// `None`: removes the `SetHandler` of outer sections.
    Unset,
}
