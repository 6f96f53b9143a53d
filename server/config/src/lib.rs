//! Configuration: the directive table, and the typed [`Site`] that it fills. Knows no HTTP and no
//! Perl.
//!
//! [`Site::load`] reads Apache's httpd.conf language, [`Site::zero`] makes a site from a folder or
//! a program, and both start from [`Site::defaults`]. The server then calls [`Site::map`] and
//! [`Site::settings`] and never sees a directive.

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
mod host;
mod htaccess;
mod include;
mod includes;
mod interpreter;
mod line;
mod load;
mod log_format;
mod log_settings;
mod lua;
mod map;
mod media_types;
mod merge;
mod network;
mod pattern;
mod perl_settings;
mod phase;
mod preload;
mod problem;
mod redis;
mod remote;
mod rewrite;
mod rules;
mod team;

mod proxy_tls;
mod scope;
mod section;
mod site;
mod text;
mod tls;
mod traffic;
mod upstream;
mod user_dirs;
mod zero;

pub use access::{
    AllowDeny, Authentication, Authorizer, DigestAlgorithm, DigestWord, DigestWords, From, Methods,
    NameLookups, NameTest, Order, Requirement, Verdict, Visitor,
};
pub use cache::*;
pub use change::{AuthWord, Change, HandlerName};
pub use connection::*;
pub use custom::{CustomDirective, CustomUse, Takes};
pub use definitions::{stood_in_for, Definitions};
pub use directive::{Directive, Group, Place, Shape};
pub use directives::{Refused, DIRECTIVES, REFUSED};
pub use document::{directives_json, markdown};
pub use expression::Expression;
pub use filter::*;
pub use handler::*;
pub use host::{EncodedSlashes, Host, HostAddress, HostLogs};
pub use htaccess::{Htaccess, Overrides};
pub use includes::{ByMode, Includes, IncludesChange};
pub use interpreter::{Errand, Ground, Interpreter, Made, Unasked};
pub use log_format::*;
pub use log_settings::*;
pub use lua::{LuaHook, LuaScripts, LuaSettings};
pub use map::Mapped;
pub use media_types::MediaTypes;
pub use network::Network;
pub use pattern::{Groups, Pattern};
pub use perl_settings::PerlSettings;
pub use phase::{option as perl_option, PerlPart, Phase, Told};
pub use preload::{Place as PreloadPlace, Preload, Preloaded};
pub use problem::{Note, NoteKind, Problem, Problems};
pub use proxy_tls::ProxyTls;
pub use redis::*;
pub use remote::RemoteAddress;
pub use rewrite::{
    BackEndStart, Check, Escape, Flags, Forced, RewriteCondition, RewriteMap, RewriteRule,
    Rewriting,
};
pub use rules::{
    Base, Condition, Conditional, Expires, Expiry, From as RedirectFrom, HeaderAction, HeaderRule,
    HeaderValue, HostRules, Media, RedirectRule, Rest, Rules, VariableRule, When,
};
pub use section::{SectionKind, SECTIONS};
pub use site::*;
pub use team::{Team, TeamMark, WorkerPolicy};
pub use text::{Facts, Function, Matched, Nothing, Piece, Text};
pub use tls::*;
pub use traffic::*;
pub use upstream::*;
pub use user_dirs::{UserDirs, UserPlace};
pub use zero::Error;

/// Edit distance between two words, for "did you mean".
pub fn distance(a: &str, b: &str) -> usize {
    strsim::damerau_levenshtein(a, b)
}

/// The nearest of the names, ignoring case, if it is near enough.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let near_enough = (word.chars().count() / 3).clamp(1, 4);
    names
        .map(|name| (distance(&word, &name.to_ascii_lowercase()), name))
        .min()
        .filter(|(distance, _)| *distance <= near_enough)
        .map(|(_, name)| name)
}
