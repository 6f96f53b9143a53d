//! One change a directive makes to the [`crate::Settings`] of its section.
//!
//! Directives produce changes while a file is read; [`crate::Site::settings`] applies the changes
//! of every matching section, in Apache's order, when a request needs them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::{Forwarded, Phase, Proxied};

/// What `SetHandler` and `AddHandler` name. It becomes a [`crate::Handler`] once all sections are
/// merged, because `PerlResponseHandler` and `PSGIApp` may stand in another section.
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
    /// `None`: forget the `SetHandler` of the sections around.
    Unset,
}

/// `Order`: which of `Allow` and `Deny` has the last word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub enum Order {
    #[default]
    DenyAllow,
    AllowDeny,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum Change {
    SetHandler(HandlerName),
    /// Suffix without the dot.
    AddHandler(String, HandlerName),
    /// `PerlAccessHandler` and its kind: handlers as written.
    PerlHandler(Phase, Vec<String>),
    /// `PerlOptions` of a location, bits of [`crate::perl_option`].
    PerlOptions {
        on: u8,
        off: u8,
    },
    /// `PerlOptions -Authen` of a server, and its contrary.
    PerlWithout(Phase),
    PerlWith(Phase),
    PsgiApp(PathBuf),
    /// Suffix without the dot, and the media type.
    AddType(String, String),
    /// Replaces the outer list; a second one in the same section adds to the first. Empty: disabled.
    DirectoryIndex(Vec<String>),
    ExecCgi(bool),
    ParseHeaders(bool),
    SetEnv(String, String),
    UnsetEnv(String),
    SetVar(String, String),
    AddVar(String, String),
    /// `Require all granted` (true) or `denied`.
    Require(bool),
    Order(Order),
    AllowFromAll,
    DenyFromAll,
    RequestTimeout(Duration),
    BodyLimit(u64),
    ErrorDocument(u16, String),
    PreserveHost(bool),
    ProxyAddHeaders(bool),
    ProxyForwarded(Forwarded),
    ErrorOverride(Option<Vec<u16>>),
    ProxyTimeout(Duration),
    TunnelTimeout(Duration),
    /// A back end's URL, and the path it stands for here.
    ProxyReverse(String, String),
    CookieDomain(String, String),
    CookiePath(String, String),
    SendFile(bool),
    SendFileRoot(PathBuf),
    /// `MaxConcurrentReqs`, `ClientRequestRate`.
    Traffic(crate::TrafficRule),
    /// `SSLRequireSSL`.
    RequireTls,
    /// `SSLOptions StdEnvVars`, `SSLOptions ExportCertData`.
    TlsVariables(bool),
    TlsCertificates(bool),
    /// The whole header line; `None`: not sent.
    StrictTransport(Option<String>),
}
