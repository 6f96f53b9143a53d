//! Configuration: the directive table, and the typed [`Site`] that it fills. The crate also
//! evaluates the rules of a site for one request: which host the request is for, whether `Require`
//! admits the request, whether an expression is true. The caller gives the facts of the request
//! ([`VariableSource`], [`Visitor`]). The crate parses no HTTP and runs no Perl.
//!
//! [`Site::load`] reads Apache's httpd.conf language. [`Site::zero`] makes a site from a folder or
//! a program. Both start from [`Site::defaults`]. The server then calls [`UrlMapping::map`] and
//! [`Host::settings`] and never handles a directive.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod access;
mod arguments;
mod cache;
mod change;
mod condition;
mod connection;
mod custom;
mod defaults;
mod definitions;
mod directive;
mod directives;
mod document;
mod environment;
mod expression;
mod filter;
mod glob;
mod guard;
mod handler;
mod hashed_folder;
mod host;
mod httpd;
mod include;
mod includes;
mod interpreter;
mod line;
mod listing;
mod load;
mod log_format;
mod log_settings;
mod lua;
mod managed;
mod map;
mod media_types;
mod negotiation;
mod network;
pub mod option;
pub mod overrides;
mod pattern;
mod perl_settings;
mod phase;
mod preload;
mod problem;
mod process_limit;
mod ranges;
mod redis;
mod remote;
mod revocation;
mod rewrite;
mod rewrite_options;
mod rules;
mod team;

mod health;
mod proxy_tls;
mod scope;
mod section;
mod server_timing;
mod settings;
mod site;
mod spelling;
mod substitute;
mod text;
mod tls;
mod trace_export;
mod traffic;
mod upstream;
mod user_dirs;
pub mod virtual_root;
mod warmup;
mod zero;

pub use access::{
    AllowDeny, AuthWord, Authentication, Authorizer, DigestAlgorithm, DigestWord, DigestWords,
    From, Merging, Methods, NameLookups, NameTest, Order, Requirement, Verdict, Visitor,
};
pub use arguments::Shape;
pub use cache::*;
pub use change::{Change, Conditional};
pub use connection::*;
pub use custom::{CustomDirective, CustomUse, Takes};
pub use definitions::{replaced_modules, Definitions};
pub use directive::{Directive, DirectivePlace, Group};
pub use directives::{
    chosen_back_end, is_name_of_programs, Foreign, Refused, DIRECTIVES, FOREIGN, METHODS, REFUSED,
};
pub use document::{directives_json, markdown};
pub use expression::Expression;
pub use filter::*;
pub use handler::*;
pub use hashed_folder::HashedFiles;
pub use health::{CheckMethod, HealthCheck, NamedChecks};
pub use host::{Host, HostAddress, HostLogs, HostNames, Htaccess};
pub use httpd::{HTTPD_MODULE_MAGIC_NUMBER, HTTPD_VERSION};
pub use includes::{ByMode, Includes, IncludesChange};
pub use interpreter::{Errand, ErrandResult, Ground, Interpreter, Unasked};
pub use listing::{ListingChange, ListingSettings};
pub use log_format::*;
pub use log_settings::*;
pub use lua::{LuaHook, LuaScripts};
pub use managed::{
    authority_url, managed_name, Authority, ChallengeKind, DomainSettings, KeyKind,
    ManagedCertificates, ManagedDomain, RenewMode, RenewWindow, RequireHttps, LETS_ENCRYPT,
};
pub use map::{Alias, EncodedSlashes, Mapped, UrlMapping};
pub use media_types::MediaTypes;
pub use negotiation::{ForcedLanguages, SkippedSuffixes};
pub use network::Network;
pub use overrides::Overrides;
pub use pattern::{Groups, Pattern};
pub use perl_settings::{ForkLint, PerlSettings};
pub use phase::{option as perl_option, Phase};
pub use preload::{Preload, PreloadOrigin, Preloaded};
pub use problem::{Note, NoteKind, Problem, Problems};
pub use process_limit::{LimitedResource, ProcessLimit};
pub use proxy_tls::ProxyTls;
pub use ranges::RangeLimits;
pub use redis::*;
pub use remote::{KnownProxy, ProxyKind, RemoteAddress};
pub use revocation::*;
pub use rewrite::{
    BackEndStart, Check, Escape, Flags, Forced, RewriteCondition, RewriteMap, RewriteRule,
};
pub use rewrite_options::RewriteOptions;
pub use rules::{
    is_url, Base, Condition, Expires, Expiry, From as RedirectFrom, HeaderAction, HeaderRule,
    HeaderValue, PlaceAlias, PlaceRedirect, RedirectRule, Rest, VariableRule, When,
};
pub use scope::{NamedGroups, RequestPlace, Scope, Section};
pub use section::{SectionKind, SECTIONS};
pub use server_timing::ServerTiming;
pub use settings::{
    etag_part, EncodedSettings, FileSettings, HandlerSettings, HostRules, Links, LuaSettings,
    Media, Negotiation, OutputSettings, PerlPart, PlaceRules, ProgramSettings, RequestLimits,
    Rewriting, Rules, Settings, TlsRules, Tracking,
};
pub use site::*;
pub use spelling::Spelling;
pub use substitute::{Find, Substitution, SubstitutionChange, Substitutions};
pub use team::{
    AssignedPool, Cgroup, DeferredLimits, IdleLimit, PerlPool, QueueTarget, Team, TeamMark,
    WorkerLimits, WorkerPolicy,
};
pub use text::{Function, Matched, Nothing, Piece, Text, VariableSource};
pub use tls::*;
pub use trace_export::TraceExport;
pub use traffic::*;
pub use upstream::*;
pub use user_dirs::{UserDirs, UserPlace};
pub use virtual_root::{RootPiece, VirtualRoot, VirtualRoots};
pub use warmup::{Warmup, WarmupUrl};
pub use zero::Error;

/// Returns the edit distance between two words, for "did you mean".
pub fn distance(a: &str, b: &str) -> usize {
    strsim::damerau_levenshtein(a, b)
}

/// Returns the name that is nearest to the word, ignoring case, if the name is near enough to
/// suggest.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let near_enough = (word.chars().count() / 3).clamp(1, 4);
    names
        .map(|name| (distance(&word, &name.to_ascii_lowercase()), name))
        .min()
        .filter(|(distance, _)| *distance <= near_enough)
        .map(|(_, name)| name)
}
