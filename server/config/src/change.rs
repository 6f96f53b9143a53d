//! One change that a directive makes to the [`crate::Settings`] of its section.
//!
//! Directives produce changes while a file is read. [`crate::Host::settings`] applies the changes
//! of all matching sections in Apache's order when a request needs them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::{
    AuthWord, Expiry, Expression, Forwarded, From, HandlerName, HeaderRule, Merging, Methods,
    Order, Phase, RedirectRule, Requirement, RewriteRule, VariableRule,
};

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum Change {
    SetHandler(HandlerName),
    /// The suffix without the dot, and the handler.
    AddHandler(String, HandlerName),
    /// `PerlAccessHandler` and the directives of the other phases: handlers as written.
    PerlHandler(Phase, Vec<String>),
    /// `PerlOptions` of a location, bits of [`crate::perl_option`].
    PerlOptions {
        on: u8,
        off: u8,
    },
    /// `PerlOptions -Authen` and the like: a phase in which the server runs no Perl.
    PerlWithout(Phase),
    PerlWith(Phase),
    PsgiApp(PathBuf),
    /// The suffix without the dot, and the media type.
    AddType(String, String),
    TypesConfig(Arc<crate::MediaTypes>),
    /// Replaces the list of outer sections. A second line in the same section adds to the list of
    /// the first line. Empty: no index file is used.
    DirectoryIndex(Vec<String>),
    /// `Options`, as bits of [`crate::option`]. `clear` removes the options of outer sections.
    Options {
        clear: bool,
        on: u8,
        off: u8,
    },
    /// Suffixes without the dot.
    RemoveHandler(String),
    RemoveType(String),
    AddEncoding(String, String),
    RemoveEncoding(String),
    AddCharset(String, String),
    RemoveCharset(String),
    /// The suffix without the dot, and the language tag in lower case.
    AddLanguage(String, String),
    RemoveLanguage(String),
    DefaultLanguage(String),
    LanguagePriority(Vec<String>),
    ForceLanguagePriority(crate::ForcedLanguages),
    MultiviewsMatch(crate::SkippedSuffixes),
    /// `AddDefaultCharset`. `None`: Off.
    DefaultCharset(Option<String>),
    ForceType(Option<String>),
    DirectorySlash(bool),
    /// `DirectoryIndexRedirect`: the status. `None`: Off.
    DirectoryIndexRedirect(Option<u16>),
    /// `FileETag`, as bits of [`crate::etag_part`]. `clear` removes the parts of outer sections.
    FileEtag {
        clear: bool,
        on: u8,
        off: u8,
    },
    CopyFiles(bool),
    MaxRanges(Option<u32>),
    MaxRangeOverlaps(Option<u32>),
    MaxRangeReversals(Option<u32>),
    Listing(crate::ListingChange),
    CheckSpelling(bool),
    CheckCaseOnly(bool),
    /// `CheckBasenameMatch`.
    CheckBasenames(bool),
    FallbackResource(Option<String>),
    /// `AcceptPathInfo`. `None`: Default.
    AcceptPathInfo(Option<bool>),
    PassAuthorization(bool),
    /// `PerlIsolation rewind` or `none`.
    Rewound(bool),
    /// `PerlPool`. Only the name is known until all files have been read.
    PerlPool(Arc<crate::AssignedPool>),
    /// The media type or handler name, and the URL path of the program.
    Action(String, String),
    /// The method, and the URL path of the program.
    Script(String, String),
    ParseHeaders(bool),
    SetEnv(String, String),
    /// `PerlSetEnv` and `PerlPassEnv`.
    PerlSetEnv(String, String),
    UnsetEnv(String),
    SetVar(String, String),
    AddVar(String, String),
    /// A directive of a Perl module.
    Custom(Arc<crate::CustomUse>),
    Require(Requirement),
    Order(Option<Methods>, Order),
    Allow(Option<Methods>, From),
    Deny(Option<Methods>, From),
    /// `Satisfy Any` (true) or `All`.
    Satisfy(Option<Methods>, bool),
    /// `AuthMerging`. `None`: Off.
    AuthMerging(Option<Merging>),
    Auth(AuthWord),
    /// `AllowMethods`: a method in upper case, HEAD as GET. `None`: all methods.
    AllowMethod(Option<String>),
    NameLookups(crate::NameLookups),
    Variables(Arc<VariableRule>),
    Redirect(Arc<RedirectRule>),
    /// `Redirect URL` in a section.
    PlaceRedirect(Arc<crate::PlaceRedirect>),
    /// `RedirectRelative`.
    RelativeRedirects(bool),
    /// `Alias FILE` in a section.
    PlaceAlias(Arc<crate::PlaceAlias>),
    /// `AliasPreservePath`.
    AliasKeepsPath(bool),
    Header(Arc<HeaderRule>),
    RequestHeader(Arc<HeaderRule>),
    /// `AuthBasicFake`. `None`: `Off`.
    BasicFake(Option<Arc<HeaderRule>>),
    ExpiresActive(bool),
    ExpiresDefault(Expiry),
    ExpiresByType(String, Expiry),
    /// A directive about compression, such as `AddOutputFilterByType`.
    Compression(crate::CompressionChange),
    Includes(crate::IncludesChange),
    /// `LogLevel LEVEL` in a section.
    LogLevel(crate::LogLevel),
    /// `LogLevel perl:LEVEL`.
    PerlLogLevel(crate::LogLevel),
    /// A directive about the filter SUBSTITUTE.
    Substitution(crate::SubstitutionChange),
    /// A directive about the response cache, such as `CacheEnable`.
    Cache(crate::CacheChange),
    RewriteEngine(bool),
    RewriteRule(Arc<RewriteRule>),
    RewriteBase(String),
    RewriteOptions(crate::rewrite_options::RewriteOptions),
    AllowOverride(crate::overrides::Override),
    AllowOverrideList(Vec<String>),
    /// `<If>`: changes for requests that meet a condition.
    If(Arc<Conditional>),
    RequestTimeout(Duration),
    SlowRequestTime(Duration),
    BodyLimit(u64),
    /// `RLimitCPU` and the like.
    ProcessLimit(crate::LimitedResource, crate::ProcessLimit),
    ErrorDocument(u16, String),
    PreserveHost(bool),
    ProxyAddHeaders(bool),
    ProxyAddForwarded(bool),
    ProxyForwarded(Forwarded),
    ProxyVia(crate::Via),
    ErrorOverride(Option<Vec<u16>>),
    ProxyTimeout(Duration),
    TunnelTimeout(Duration),
    /// `ProxyPassReverse`: a back end's URL, and the local path that replaces the URL.
    ProxyReverse(String, String),
    CookieDomain(String, String),
    CookiePath(String, String),
    SendFile(bool),
    SendFileRoot(PathBuf),
    /// `MaxConcurrentReqs`, `ClientRequestRate`.
    Traffic(crate::TrafficRule),
    TrackUploads(bool),
    TraceParents(bool),
    ServerTiming(crate::ServerTiming),
    /// `LuaAttractRawURL` and the like. The scripts replace those of an outer section.
    Lua(crate::LuaHook, crate::LuaScripts),
    LuaInstructions(u64),
    LuaMemory(u64),
    /// `SSLRequireSSL`.
    RequireTls,
    /// `SSLRequire`.
    TlsRequirement(std::sync::Arc<crate::Expression>),
    /// `SSLUserName`.
    TlsUserName(String),
    /// `SSLOptions StdEnvVars`, `SSLOptions ExportCertData`.
    TlsVariables(bool),
    TlsCertificates(bool),
    /// The whole field line Strict-Transport-Security. `None`: the field is not sent.
    StrictTransport(Option<String>),
}

impl Change {
    /// Whether the directive is one of mod_perl's own.
    pub(crate) fn is_of_mod_perl(&self) -> bool {
        matches!(
            self,
            Change::PerlHandler(..)
                | Change::PerlOptions { .. }
                | Change::PerlWithout(_)
                | Change::PerlWith(_)
                | Change::PerlSetEnv(..)
                | Change::SetVar(..)
                | Change::AddVar(..)
        )
    }
}

/// The changes of an `<If>` section, for requests that meet the condition.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Conditional {
    pub condition: Expression,
    pub changes: Vec<Change>,
}
