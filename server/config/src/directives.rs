//! The directive table: every directive that Mehari knows, described once.
//!
//! One file per group. A row gives a directive's usage, its meaning, its default and the range for
//! a tuner. The row also names the function that applies the directive. These functions stand below
//! the rows.

use crate::directive::{Directive, Group};

pub use access::METHODS;
pub use handlers::is_name_of_programs;
pub use proxy::chosen_back_end;
pub(crate) use proxy::set_in_head;
pub use refused::{Foreign, Refused, FOREIGN, REFUSED};

mod access;
mod cache;
pub(crate) mod console;
mod digest;
mod environment;
mod files;
mod filter;
mod fixed;
mod handlers;
mod headers;
mod ignored;
mod includes;
mod limits;
mod listing;
mod logs;
mod lua;
pub(crate) mod managed;
mod negotiation;
mod paths;
mod perl;
mod phases;
mod pools;
mod providers;
mod proxy;
mod proxy_tls;
mod ranges;
pub(crate) mod refused;
mod remote;
mod revocation;
mod rewriting;
mod server;
mod spelling;
mod substitute;
mod tls;
mod tracing;
mod traffic;
mod tuning;
mod virtual_roots;
mod worker_limits;
mod workers;

pub const DIRECTIVES: &[Group] = &[
    server::GROUP,
    tls::GROUP,
    managed::GROUP,
    traffic::GROUP,
    tracing::GROUP,
    remote::GROUP,
    paths::GROUP,
    virtual_roots::GROUP,
    files::GROUP,
    negotiation::GROUP,
    spelling::GROUP,
    listing::GROUP,
    access::GROUP,
    digest::GROUP,
    rewriting::GROUP,
    headers::GROUP,
    filter::GROUP,
    includes::GROUP,
    substitute::GROUP,
    cache::GROUP,
    handlers::GROUP,
    lua::GROUP,
    proxy::GROUP,
    proxy_tls::GROUP,
    perl::GROUP,
    phases::GROUP,
    providers::GROUP,
    pools::GROUP,
    environment::GROUP,
    workers::GROUP,
    worker_limits::GROUP,
    limits::GROUP,
    ranges::GROUP,
    logs::GROUP,
    fixed::GROUP,
    ignored::GROUP,
    tuning::GROUP,
];

/// The names that the file of each group imports.
mod row {
    pub(super) use crate::arguments::{Arguments, Shape};
    pub(super) use crate::directive::{Directive, Group, Target};
    pub(super) use crate::problem::Fault;
    pub(super) use crate::Change;

    pub(super) type Applied = Result<(), Fault>;

    /// Returns the shape of `least` to `most` words with this usage.
    pub(super) const fn words(usage: &'static str, least: usize, most: usize) -> Shape {
        Shape::Words { usage, least, most }
    }

    pub(super) const ANY: usize = usize::MAX;
}

impl Directive {
    /// Returns the row with this name or alias, ignoring case.
    pub fn named(name: &str) -> Option<&'static Directive> {
        let is_meant = |known: &str| known.eq_ignore_ascii_case(name);
        Directive::all().find(|row| row.names().any(is_meant))
    }

    /// Returns all rows, group after group.
    pub fn all() -> impl Iterator<Item = &'static Directive> {
        DIRECTIVES.iter().flat_map(|group| group.rows)
    }
}
