//! The interface to Perl while a configuration is read: `<Perl>` sections and files that call
//! `add_config` produce directives.
//!
//! The reader knows no Perl, so the caller supplies an [`Interpreter`]. The pool's implementation
//! runs the site's own perl while the configuration is read. The implementation also runs the shell
//! script `envvars`, whose variables Debian's configuration of Apache uses.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{CustomDirective, CustomUse, PerlSettings};

/// The next task for perl, in the order of the configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Errand<'a> {
    /// `PerlModule`
    Module(&'a str),
    /// A file of `PerlRequire` or a related directive.
    Require(&'a str),
    /// The code of a `<Perl>` section. `name` is `FILE:LINE` of its first line.
    Section { name: &'a str, code: &'a str },
    /// A line with a directive of a Perl module, whose callback runs.
    Directive(&'a CustomUse),
}

/// The result of a task.
#[derive(Debug, Default, PartialEq)]
pub struct ErrandResult {
    /// Lines of configuration that the task produced. The reader reads them at the position of the
    /// task.
    pub lines: Vec<String>,
    /// Directives that the following lines may use.
    pub directives: Vec<CustomDirective>,
    /// Whether the task was not run, so that its result is unknown.
    pub is_unknown: bool,
}

/// The settings with which a perl starts, as far as they are known when a task needs the perl.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The number of the host that owns the Perl.
    pub host: u32,
    pub perl: &'a PerlSettings,
    pub server_root: &'a Path,
    /// The names of `-D` and `Define`, with their values.
    pub defines: &'a BTreeMap<String, String>,
}

/// An interpreter that runs no Perl, for callers that only read the text of a configuration.
#[derive(Debug, Default)]
pub struct Unasked;

impl Interpreter for Unasked {
    fn run(&mut self, _: &Ground<'_>, _: Errand<'_>) -> Result<ErrandResult, String> {
        Ok(ErrandResult {
            is_unknown: true,
            ..ErrandResult::default()
        })
    }
}

pub trait Interpreter {
    /// Runs a task in the perl that `ground` describes. One process runs all tasks of a host during
    /// one reading of a configuration.
    ///
    /// # Errors
    ///
    /// The failure in one line: perl cannot be started, or the code died.
    fn run(&mut self, ground: &Ground<'_>, errand: Errand<'_>) -> Result<ErrandResult, String>;

    /// Returns the variables that the shell script `file` exports. Debian's apachectl runs such a
    /// script, `envvars`, before it starts Apache.
    ///
    /// # Errors
    ///
    /// The failure in one line: the shell cannot be started, or the script fails.
    fn environment(&mut self, file: &Path) -> Result<BTreeMap<String, String>, String> {
        let _ = file;
        Ok(BTreeMap::new())
    }
}
