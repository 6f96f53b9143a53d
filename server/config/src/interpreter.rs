//! Perl while a configuration is read: `<Perl>` sections and files that call `add_config` make directives.
//!
//! The reader knows no Perl. Whoever loads a site brings an [`Interpreter`]; the pool has one that runs the
//! site's own perl for as long as the reading takes.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{CustomDirective, CustomUse, PerlSettings};

/// What the perl is to do next, in the order of the configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Errand<'a> {
    /// `PerlModule`
    Module(&'a str),
    /// `PerlRequire` and its kind: a file.
    Require(&'a str),
    /// The code of a section; the name is `FILE:LINE` of its first line.
    Section { name: &'a str, code: &'a str },
    /// A line of a directive that a module defined: its callback.
    Directive(&'a CustomUse),
}

/// What an errand left.
#[derive(Debug, Default, PartialEq)]
pub struct Made {
    /// Lines of configuration, to be read in its place.
    pub lines: Vec<String>,
    /// Directives that may be written from here on.
    pub directives: Vec<CustomDirective>,
    /// The errand was not run: nobody knows what it would have made.
    pub is_unknown: bool,
}

/// What a reading has said so far of the perl and of what it may ask.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The number of the host whose Perl it is.
    pub host: u32,
    pub perl: &'a PerlSettings,
    pub server_root: &'a Path,
    /// `-D` and `Define`.
    pub defines: &'a BTreeMap<String, String>,
}

/// Runs no Perl: for readers of a configuration's text alone.
#[derive(Debug, Default)]
pub struct Unasked;

impl Interpreter for Unasked {
    fn run(&mut self, _: &Ground<'_>, _: Errand<'_>) -> Result<Made, String> {
        Ok(Made {
            is_unknown: true,
            ..Made::default()
        })
    }
}

pub trait Interpreter {
    /// Runs an errand in the perl that `ground` tells of; all errands of a reading and a host are one process's. Answers what
    /// it made, or why it failed, in one line.
    fn run(&mut self, ground: &Ground<'_>, errand: Errand<'_>) -> Result<Made, String>;
}
