//! Decides whether a file is sent or run, and on which rung.

use super::walk::ExistingPath;
use crate::content::media::{media_type, suffix, suffixes};
use mehari_config::{
    is_name_of_programs, Change, Handler, Host, Rung, Scope, Section, Settings, Site, FCGID,
};
use mehari_http::negotiation::TYPE_MAP;
use mehari_http::problem::Problem;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

pub const NOT_HERE: Problem =
    Problem::refused(403, "scripts do not run here (Options ExecCGI is off)");
const NO_ACTION: Problem = Problem::refused(500, "no Action names a program for this handler");
const SOURCE: Problem = Problem::refused(403, "a script is never sent as a file");

/// Returns the handler of a file.
pub fn choose(
    site: &Site,
    settings: &Settings,
    found: &ExistingPath,
    alias_script: bool,
) -> Result<Handler, Problem> {
    match configured(settings, &found.file) {
        Some(handler) if is_refused(handler, settings, alias_script) => Err(NOT_HERE),
        None if alias_script => Ok(Handler::Script(Rung::Cgi)),
        Some(Handler::Named(name)) if is_name_of_programs(name) => Err(NO_ACTION),
        Some(Handler::Named(_)) if is_source(found) => Err(SOURCE),
        Some(Handler::Named(_)) => Ok(Handler::File),
        Some(Handler::File) if is_source(found) => Err(SOURCE),
        Some(Handler::Script(rung)) => Ok(Handler::Script(possible_rung(*rung, found))),
        Some(handler) => Ok(handler.clone()),
        None => match site.by_name {
            Some(rung) => by_name(rung, found),
            None if is_source(found) => Err(SOURCE),
            None => Ok(Handler::File),
        },
    }
}

/// Whether the file is executable and has a script's suffix. Such a file is a program, and its
/// source is never sent. Like in Apache, a script without the execute permission is sent as a file.
fn is_source(found: &ExistingPath) -> bool {
    is_executable(found) && has_script_suffix(suffix(&found.file).unwrap_or_default())
}

fn is_executable(found: &ExistingPath) -> bool {
    found.stat.st_mode & 0o111 != 0
}

/// Returns the configured handler of a file: from `SetHandler`, or else from `AddHandler`. All
/// suffixes of the name count for `AddHandler`, and the last known suffix decides.
pub fn configured<'s>(settings: &'s Settings, file: &[u8]) -> Option<&'s Handler> {
    const MAP: &Handler = &Handler::TypeMap;
    let by_suffix = || {
        suffixes(file).rev().find_map(|suffix| {
            let mut known = settings.handlers.by_suffix.iter();
            known.find(|(known, _)| known.eq_ignore_ascii_case(suffix))
        })
    };
    let set = settings.handlers.set.as_ref();
    let is_map = || media_type(file, settings).is_some_and(|known| known == TYPE_MAP);
    set.or_else(|| by_suffix().map(|(_, handler)| handler))
        .or_else(|| is_map().then_some(MAP))
}

/// Whether the handler runs the file, and neither `Options ExecCGI` nor a ScriptAlias allows it. As
/// in mod_perl, a ScriptAlias allows no scripts of `ModPerl::Registry` and `ModPerl::PerlRun`.
fn is_refused(handler: &Handler, settings: &Settings, alias_script: bool) -> bool {
    let (is_program, needs_option) = match handler {
        Handler::Script(rung) => (true, matches!(rung, Rung::Registry | Rung::PerlRun)),
        Handler::Proxy(proxied) => (proxied.upstream == FCGID, false),
        _ => (false, false),
    };
    is_program && !settings.handlers.exec_cgi && (needs_option || !alias_script)
}

/// Finds the `Action` for the file's handler name or media type. Returns this name or type, and the
/// URL path of the program.
pub fn action<'s>(settings: &'s Settings, file: &[u8]) -> Option<(&'s str, &'s str)> {
    if settings.media.actions.is_empty() {
        return None;
    }
    let name = match configured(settings, file) {
        Some(Handler::Named(name)) => name.into(),
        _ => media_type(file, settings)?,
    };
    let mut actions = settings.media.actions.iter();
    let action = actions.find(|(known, _)| known.eq_ignore_ascii_case(&name));
    action.map(|(name, program)| (name.as_str(), program.as_str()))
}

fn has_script_suffix(suffix: &str) -> bool {
    suffix.eq_ignore_ascii_case("pl") || suffix.eq_ignore_ascii_case("cgi")
}

/// Returns the rung of a file for which `rung` is configured. The rungs `fork`, `rewind` and `auto`
/// also run programs in other languages than Perl, on the rung `cgi`. Like mod_perl, the other
/// rungs compile every file as Perl.
fn possible_rung(rung: Rung, found: &ExistingPath) -> Rung {
    let isolates = matches!(rung, Rung::Fork | Rung::Rewind | Rung::Auto);
    if isolates && is_executable(found) && interpreter(&found.file) == Interpreter::Other {
        return Rung::Cgi;
    }
    rung
}

/// Recognises a script without any configuration: by the suffix, or by the mode and the first line.
fn by_name(rung: Rung, found: &ExistingPath) -> Result<Handler, Problem> {
    if has_script_suffix(suffix(&found.file).unwrap_or_default()) {
        return Ok(Handler::Script(possible_rung(rung, found)));
    }
    match interpreter(&found.file) {
        Interpreter::Perl if is_executable(found) => Ok(Handler::Script(rung)),
        Interpreter::Perl => Err(SOURCE),
        _ => Ok(Handler::File),
    }
}

#[derive(PartialEq)]
enum Interpreter {
    None,
    Perl,
    Other,
}

/// Returns the interpreter that the `#!` line of a file names. A compiled program counts as a
/// program in another language.
fn interpreter(file: &[u8]) -> Interpreter {
    let mut start = [0; 128];
    let path = std::ffi::OsStr::from_bytes(file);
    let count = File::open(path).and_then(|mut file| file.read(&mut start));
    match &start[..count.unwrap_or(0)] {
        line if Settings::is_perl_shebang(line) => Interpreter::Perl,
        line if line.starts_with(b"#!") || line.starts_with(b"\x7fELF") => Interpreter::Other,
        _ => Interpreter::None,
    }
}

/// Returns the `<Location>` of a PSGI application or a handler: the last section that matches the
/// path and sets one.
pub fn mount<'s>(host: &'s Host, path: &[u8]) -> &'s str {
    let mut locations = host
        .sections
        .iter()
        .filter_map(|section| match &section.scope {
            Scope::Location(location) if sets_program(section) && covers(location, path) => {
                Some(location.as_str())
            }
            _ => None,
        });
    locations.next_back().unwrap_or("")
}

fn sets_program(section: &Section) -> bool {
    let sets = |change: &Change| matches!(change, Change::SetHandler(_) | Change::PsgiApp(_));
    section.changes.iter().any(sets)
}

fn covers(location: &str, path: &[u8]) -> bool {
    match path.strip_prefix(location.trim_end_matches('/').as_bytes()) {
        Some(rest) => rest.is_empty() || rest.starts_with(b"/"),
        None => false,
    }
}
