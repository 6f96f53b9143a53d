//! Configuration: the directive table, and the typed [`Site`] it fills. Knows no HTTP and no Perl.
//!
//! [`Site::load`] reads Apache's httpd.conf language, [`Site::zero`] makes a site of a folder or a
//! program, [`Site::defaults`] is what both start from. The server then asks [`Site::map`] and
//! [`Site::settings`]; it never sees a directive.

mod arguments;
mod change;
mod condition;
mod defaults;
mod directive;
mod directives;
mod document;
mod environment;
mod glob;
mod host;
mod include;
mod interpreter;
mod line;
mod load;
mod log_format;
mod map;
mod merge;
mod network;
mod phase;
mod problem;
mod remote;
mod scope;
mod section;
mod site;
mod tls;
mod traffic;
mod upstream;
mod zero;

pub use change::{Change, HandlerName, Order};
pub use directive::{Directive, Group, Place, Shape};
pub use directives::DIRECTIVES;
pub use document::{directives_json, markdown};
pub use host::{Host, HostAddress, HostLogs};
pub use interpreter::{Errand, Interpreter};
pub use log_format::*;
pub use map::Mapped;
pub use network::Network;
pub use phase::{option as perl_option, PerlPart, Phase, Told};
pub use problem::{Note, NoteKind, Problem, Problems};
pub use remote::RemoteAddress;
pub use scope::Pattern;
pub use section::{SectionKind, SECTIONS};
pub use site::*;
pub use tls::*;
pub use traffic::*;
pub use upstream::*;
pub use zero::Error;

/// Edit distance between two words, for "did you mean".
pub fn distance(a: &str, b: &str) -> usize {
    strsim::damerau_levenshtein(a, b)
}

/// The name nearest to `word`, case aside, when it is near enough to be meant.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let near_enough = (word.chars().count() / 3).clamp(1, 4);
    names
        .map(|name| (distance(&word, &name.to_ascii_lowercase()), name))
        .min()
        .filter(|(distance, _)| *distance <= near_enough)
        .map(|(_, name)| name)
}
