//! Perl while a configuration is read: `<Perl>` sections and files that call `add_config` make directives.
//!
//! The reader knows no Perl. Whoever loads a site brings an [`Interpreter`]; the pool has one that runs the
//! site's own perl for as long as the reading takes.

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
}

pub trait Interpreter {
    /// Runs an errand in the perl that `settings` tell of; all errands of a reading are one process's. Answers what
    /// it made, or why it failed, in one line.
    fn run(&mut self, settings: &PerlSettings, errand: Errand<'_>) -> Result<Made, String>;
}
