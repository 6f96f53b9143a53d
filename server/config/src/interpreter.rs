//! Perl while a configuration is read: `<Perl>` sections and files that call `add_config` make
//! directives.
//!
//! The reader knows no Perl, so the caller supplies an [`Interpreter`]. The pool's implementation
//! runs the site's own perl while the configuration is read.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{CustomDirective, CustomUse, PerlSettings};

/// The next errand for the perl, in the order of the configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Errand<'a> {
    /// `PerlModule`
    Module(&'a str),
    /// `PerlRequire` and its kind: a file.
    Require(&'a str),
    /// The code of a section. The name is `FILE:LINE` of its first line.
    Section { name: &'a str, code: &'a str },
    /// A line with a directive of a module: runs its callback.
    Directive(&'a CustomUse),
}

/// The result of an errand.
#[derive(Debug, Default, PartialEq)]
pub struct Made {
    /// Lines of configuration, to be read in the errand's place.
    pub lines: Vec<String>,
    /// Directives that the following lines may use.
    pub directives: Vec<CustomDirective>,
    /// The errand was not run, so its result is unknown.
    pub is_unknown: bool,
}

/// The settings of a perl that are known so far.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The number of the host whose Perl it is.
    pub host: u32,
    pub perl: &'a PerlSettings,
    pub server_root: &'a Path,
    /// `-D` and `Define`.
    pub defines: &'a BTreeMap<String, String>,
}

/// Runs no Perl, for readers of a configuration's text only.
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
    /// Runs an errand in the perl that `ground` describes. All errands of one reading and host run
    /// in one process.
    ///
    /// # Errors
    ///
    /// The failure in one line: perl cannot be started, or the code died.
    fn run(&mut self, ground: &Ground<'_>, errand: Errand<'_>) -> Result<Made, String>;
}
