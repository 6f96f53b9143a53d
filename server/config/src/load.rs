//! Reading an httpd.conf and what it includes into a [`Site`].
//!
//! The reader goes on behind every fault, so that all problems are told at once. What a line
//! means is the table's business (`directives/`); here are files, sections and conditions.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::arguments::Arguments;
use crate::directive::{Directive, Place, Target};
use crate::environment::{Environment, IncludeRequest};
use crate::line::{self, Character, Lines, Word};
use crate::problem::{At, Fault};
use crate::{condition, include, section};
use crate::{
    Change, HandlerName, Note, NoteKind, Problem, Problems, Scope, Section, Site, SECTIONS,
};

/// Files that include files that include ...
const DEEPEST: usize = 32;
/// No configuration file is longer; a device or a database might be.
const LONGEST_FILE: u64 = 16 << 20;

impl Site {
    /// Reads `conf` with the names of `-D` defined (`NAME` or `NAME=VALUE`). `ServerRoot` is the
    /// folder of `conf` until the directive says otherwise.
    pub fn load(conf: &Path, defines: &[String]) -> Result<Site, Problems> {
        let mut reader = Reader::new(defines);
        reader.read_first(conf);
        reader.finish()
    }
}

/// An opened section that waits for its closing line.
struct Open {
    /// As written, for messages.
    name: String,
    file: PathBuf,
    at: At,
    kind: OpenKind,
}

enum OpenKind {
    /// Its lines count: a condition that holds, a virtual host.
    Read,
    /// Its lines do not count.
    Skip,
    /// Its lines change a scope.
    Scoped(Section),
}

struct Reader {
    site: Site,
    environment: Environment,
    base: Vec<Change>,
    open: Vec<Open>,
    problems: Vec<Problem>,
    notes: Vec<Note>,
    file: PathBuf,
    depth: usize,
    virtual_hosts: usize,
    /// `SetHandler psgi` with no `PSGIApp` beside it.
    without_app: Vec<(PathBuf, At)>,
    /// Lines are another language's until this one.
    foreign_until: Option<&'static str>,
}

impl Reader {
    fn new(defines: &[String]) -> Reader {
        let mut environment = Environment::default();
        for define in defines {
            let (name, value) = define.split_once('=').unwrap_or((define, ""));
            environment.defines.insert(name.into(), value.into());
        }
        Reader {
            site: Site::defaults(),
            environment,
            base: Vec::new(),
            open: Vec::new(),
            problems: Vec::new(),
            notes: Vec::new(),
            file: PathBuf::new(),
            depth: 0,
            virtual_hosts: 0,
            without_app: Vec::new(),
            foreign_until: None,
        }
    }

    fn read_first(&mut self, conf: &Path) {
        self.file = conf.to_path_buf();
        match conf.canonicalize() {
            Ok(real) => {
                let folder = real.parent().unwrap_or(Path::new("/"));
                self.site.server_root = folder.to_path_buf();
                self.read_file(conf);
            }
            Err(error) => self.refuse_file(format!("cannot be read: {error}")),
        }
    }

    fn read_file(&mut self, path: &Path) {
        self.file = path.to_path_buf();
        let mut bytes = Vec::new();
        let opened = std::fs::File::open(path);
        let read = opened.and_then(|file| file.take(LONGEST_FILE + 1).read_to_end(&mut bytes));
        if let Err(error) = read {
            return self.refuse_file(format!("cannot be read: {error}"));
        }
        if bytes.len() as u64 > LONGEST_FILE {
            return self.refuse_file(format!("is longer than {LONGEST_FILE} bytes"));
        }
        self.site.files.push(path.to_path_buf());
        self.read_text(&String::from_utf8_lossy(&bytes));
    }

    fn read_text(&mut self, text: &str) {
        let outer = self.open.len();
        for characters in Lines::of(text) {
            if self.skip_foreign(&characters) {
                continue;
            }
            let Some(content) = line::content(&characters) else {
                continue;
            };
            if line::text(content) == "__END__" {
                break;
            }
            if let Err(fault) = self.read_line(content) {
                self.refuse(fault);
            }
        }
        self.foreign_until = None;
        while self.open.len() > outer {
            if let Some(open) = self.open.pop() {
                let message = format!(
                    "<{0}> is not closed; expected </{0}> in the same file",
                    open.name
                );
                self.refuse(Fault::new(open.at, message));
            }
        }
    }

    /// Perl documentation in between, and `<Perl>` blocks.
    fn skip_foreign(&mut self, characters: &[Character]) -> bool {
        let text = line::text(characters);
        match self.foreign_until {
            Some(end) => {
                let shown = text.trim_start().to_ascii_lowercase();
                if shown.starts_with(end) {
                    self.foreign_until = None;
                }
                true
            }
            None if text.starts_with("=pod") || text.starts_with("=head") => {
                self.foreign_until = Some("=cut");
                true
            }
            // `=over apache` to `=back` inside documentation is configuration.
            None => text.starts_with("=cut") || text.starts_with("=back"),
        }
    }

    fn read_line(&mut self, content: &[Character]) -> Result<(), Fault> {
        let is_section = content[0].0 == '<';
        if self.is_skipping() && !is_section {
            return Ok(());
        }
        if self.is_skipping() {
            return self.section_line(content);
        }
        line::check_characters(content)?;
        let expanded = line::expand(content, &self.environment)?;
        match is_section {
            true => self.section_line(&expanded),
            false => self.directive_line(&expanded),
        }
    }

    fn is_skipping(&self) -> bool {
        let innermost = self.open.last();
        innermost.is_some_and(|open| matches!(open.kind, OpenKind::Skip))
    }

    fn directive_line(&mut self, content: &[Character]) -> Result<(), Fault> {
        let words = line::words(content)?;
        let Some((name, rest)) = words.split_first() else {
            return Ok(());
        };
        let row = Directive::named(&name.text).ok_or_else(|| unknown(name))?;
        let scoped = self
            .open
            .iter()
            .rev()
            .find(|open| matches!(open.kind, OpenKind::Scoped(_)));
        if let (Place::Server, Some(section)) = (row.place, scoped) {
            let message = format!(
                "{} cannot stand in <{}>; expected it outside of sections",
                row.name, section.name
            );
            return Err(Fault::new(name.at, message));
        }
        let end = content.last().map_or(name.at, |(_, at)| At {
            line: at.line,
            column: at.column + 1,
        });
        let arguments = Arguments {
            name: row.name,
            shape: &row.shape,
            words: rest,
            end,
        };
        row.shape.check(&arguments)?;
        self.apply(row, &arguments)?;
        self.note(row, name.at);
        match self.environment.include.take() {
            Some(request) => self.include(request),
            None => Ok(()),
        }
    }

    fn apply(&mut self, row: &Directive, arguments: &Arguments) -> Result<(), Fault> {
        self.environment.note = None;
        let innermost = self
            .open
            .iter_mut()
            .rev()
            .find_map(|open| match &mut open.kind {
                OpenKind::Scoped(section) => Some(&mut section.changes),
                _ => None,
            });
        let in_section = innermost.is_some();
        let mut target = Target {
            site: &mut self.site,
            changes: innermost.unwrap_or(&mut self.base),
            in_section,
            environment: &mut self.environment,
        };
        (row.apply)(&mut target, arguments)
    }

    fn note(&mut self, row: &'static Directive, at: At) {
        let said = self.environment.note.take();
        let (kind, message) = match (row.ignored, said) {
            (Some(reason), _) => (NoteKind::Ignored, reason.to_string()),
            (None, Some(said)) => said,
            (None, None) => (NoteKind::Honoured, String::new()),
        };
        self.add_note(row.name, at, kind, message);
    }

    fn add_note(&mut self, directive: &'static str, at: At, kind: NoteKind, message: String) {
        self.notes.push(Note {
            file: self.file.clone(),
            line: at.line,
            column: at.column,
            kind,
            directive,
            message,
        });
    }

    fn include(&mut self, request: IncludeRequest) -> Result<(), Fault> {
        let at = request.at;
        if self.depth >= DEEPEST {
            let message =
                format!("files include files {DEEPEST} deep here; does one include itself?");
            return Err(Fault::new(at, message));
        }
        let files = include::files(&self.site.server_root, &request.pattern)
            .map_err(|message| Fault::new(at, message))?;
        if files.is_empty() && !request.optional {
            let message = format!(
                "no file is called `{}`; IncludeOptional would accept that",
                request.pattern
            );
            return Err(Fault::new(at, message));
        }
        let including = self.file.clone();
        self.depth += 1;
        for file in files {
            self.read_file(&file);
        }
        self.depth -= 1;
        self.file = including;
        Ok(())
    }

    fn section_line(&mut self, content: &[Character]) -> Result<(), Fault> {
        let (_, at) = content[0];
        let Some(((end, _), inner)) = content[1..]
            .split_last()
            .filter(|((end, _), _)| *end == '>')
        else {
            return match self.is_skipping() {
                true => Ok(()),
                false => Err(Fault::new(at, "expected `>` at the end of this line")),
            };
        };
        debug_assert_eq!(*end, '>');
        let words = match line::words(inner) {
            Err(_) if self.is_skipping() => Vec::new(),
            words => words?,
        };
        let Some((name, rest)) = words.split_first() else {
            return match self.is_skipping() {
                true => Ok(()),
                false => Err(Fault::new(at, "expected the name of a section behind `<`")),
            };
        };
        match name.text.strip_prefix('/') {
            Some(closing) => self.close(closing, at),
            None => self.open_section(name, rest, at),
        }
    }

    fn open_section(&mut self, name: &Word, words: &[Word], at: At) -> Result<(), Fault> {
        let lower = name.text.to_ascii_lowercase();
        let (kind, fault) = match self.is_skipping() {
            true => (OpenKind::Skip, None),
            false => self.kind_of(&lower, name, words),
        };
        if self.foreign_until.is_none() {
            self.open.push(Open {
                name: name.text.clone(),
                file: self.file.clone(),
                at,
                kind,
            });
        }
        fault.map_or(Ok(()), Err)
    }

    /// What an opening line opens. Beside a fault it is something harmless, so that what is inside
    /// is still read for its own faults.
    fn kind_of(&mut self, lower: &str, name: &Word, words: &[Word]) -> (OpenKind, Option<Fault>) {
        match lower {
            "ifmodule" | "ifdefine" | "ifversion" => {
                match condition::holds(lower, name, words, &self.environment) {
                    Ok(true) => (OpenKind::Read, None),
                    Ok(false) => (OpenKind::Skip, None),
                    Err(fault) => (OpenKind::Read, Some(fault)),
                }
            }
            "virtualhost" => (OpenKind::Read, self.virtual_host(name).err()),
            "directory" | "directorymatch" | "files" | "filesmatch" | "location"
            | "locationmatch" => {
                let (section, fault) = self.scoped(lower, name, words);
                (OpenKind::Scoped(section), fault)
            }
            "perl" => {
                self.foreign_until = Some("</perl>");
                let message = "<Perl> is not read yet; expected `PerlPostConfigRequire FILE` with the same code";
                (OpenKind::Skip, Some(Fault::new(name.at, message)))
            }
            _ => {
                let known = SECTIONS.iter().map(|kind| kind.name);
                let fault = Fault::new(name.at, format!("there is no section <{}>", name.text));
                (OpenKind::Skip, Some(fault.or_nearest(&name.text, known)))
            }
        }
    }

    fn virtual_host(&mut self, name: &Word) -> Result<(), Fault> {
        if !self
            .open
            .iter()
            .all(|open| matches!(open.kind, OpenKind::Read))
        {
            return Err(Fault::new(
                name.at,
                "<VirtualHost> cannot stand in another section",
            ));
        }
        self.virtual_hosts += 1;
        if self.virtual_hosts > 1 {
            let message = "a second <VirtualHost>: one site answers every name so far; expected one, or a `mehari serve` for each";
            return Err(Fault::new(name.at, message));
        }
        let message = "one virtual host: what it says holds for every name and address".to_string();
        self.add_note("VirtualHost", name.at, NoteKind::Remark, message);
        Ok(())
    }

    fn scoped(&self, lower: &str, name: &Word, words: &[Word]) -> (Section, Option<Fault>) {
        let around = self.open.iter().rev().find_map(|open| match &open.kind {
            OpenKind::Scoped(section) => Some((open, section)),
            _ => None,
        });
        let is_files = lower.starts_with("files");
        let (within, misplaced) = match around {
            None => (None, None),
            Some((
                _,
                Section {
                    scope: Scope::Directory(folder),
                    within: None,
                    ..
                },
            )) if is_files => (Some(folder.clone()), None),
            Some((open, _)) => {
                let message = format!("<{}> cannot stand in <{}>", name.text, open.name);
                (None, Some(Fault::new(name.at, message)))
            }
        };
        let (scope, fault) = match section::scope(lower, name, words, &self.site.server_root) {
            Ok(scope) => (scope, misplaced),
            Err(fault) => (Scope::Location("/".into()), Some(fault)),
        };
        let changes = Vec::new();
        (
            Section {
                scope,
                within,
                changes,
            },
            fault,
        )
    }

    fn close(&mut self, name: &str, at: At) -> Result<(), Fault> {
        let here = |open: &Open| open.file == self.file && open.name.eq_ignore_ascii_case(name);
        match self.open.last() {
            Some(open) if here(open) => {}
            Some(open) if open.file == self.file => {
                let expected = format!(
                    "expected </{}>, which line {} opened, not </{name}>",
                    open.name, open.at.line
                );
                // A section further out is meant: the inner ones were left open.
                if let Some(meant) = self.open.iter().rposition(here) {
                    self.open.truncate(meant);
                }
                return Err(Fault::new(at, expected));
            }
            _ => {
                return Err(Fault::new(
                    at,
                    format!("</{name}> closes nothing that is open in this file"),
                ))
            }
        }
        if let Some(Open {
            kind: OpenKind::Scoped(section),
            file,
            at,
            ..
        }) = self.open.pop()
        {
            if wants_app(&section.changes) {
                self.without_app.push((file, at));
            }
            self.site.sections.push(section);
        }
        Ok(())
    }

    fn refuse(&mut self, fault: Fault) {
        self.problems.push(Problem {
            file: self.file.clone(),
            line: fault.at.line,
            column: fault.at.column,
            message: fault.message,
        });
    }

    fn refuse_file(&mut self, message: String) {
        self.refuse(Fault::new(At::default(), message));
    }

    /// What can only be known at the end.
    fn finish(mut self) -> Result<Site, Problems> {
        self.check_applications();
        self.check_spare_workers();
        let Reader {
            mut site,
            environment,
            base,
            problems,
            notes,
            ..
        } = self;
        if !problems.is_empty() {
            return Err(Problems { problems, notes });
        }
        site.base_handlers.apply(&mut site.base, &base);
        site.document_root = site.server_root.join(&site.document_root);
        if environment.keep_alive_off {
            site.limits.keep_alive = None;
        }
        let mut preloads = environment.preloads;
        preloads.sort_by_key(|(stage, _)| *stage);
        site.perl.preloads = preloads.into_iter().map(|(_, preload)| preload).collect();
        site.notes = notes;
        Ok(site)
    }

    fn check_applications(&mut self) {
        if self
            .base
            .iter()
            .any(|change| matches!(change, Change::PsgiApp(_)))
        {
            return;
        }
        let mut missing = std::mem::take(&mut self.without_app);
        if wants_app(&self.base) {
            let line = self
                .notes
                .iter()
                .find(|note| note.directive.ends_with("Handler"));
            let at = line.map_or(At::default(), |note| At {
                line: note.line,
                column: note.column,
            });
            missing.push((line.map_or(self.file.clone(), |note| note.file.clone()), at));
        }
        for (file, at) in missing {
            self.file = file;
            let message = "the psgi handler has no application here; expected `PSGIApp FILE` beside it or outside of sections";
            self.refuse(Fault::new(at, message));
        }
    }

    fn check_spare_workers(&mut self) {
        let workers = &self.site.workers;
        let (Some(least), Some(most)) = (workers.min_spare, workers.max_spare) else {
            return;
        };
        let line = self
            .notes
            .iter()
            .rfind(|note| note.directive == "MaxSpareServers");
        if let (true, Some(note)) = (least > most, line) {
            let message = format!("expected MaxSpareServers to be at least MinSpareServers, which is {least}, not {most}");
            self.problems.push(Problem {
                file: note.file.clone(),
                line: note.line,
                column: note.column,
                message,
            });
        }
    }
}

/// Whether changes name the psgi handler and bring no application.
fn wants_app(changes: &[Change]) -> bool {
    let names_psgi = |change: &Change| {
        matches!(
            change,
            Change::SetHandler(HandlerName::Psgi) | Change::AddHandler(_, HandlerName::Psgi)
        )
    };
    let has_app = changes
        .iter()
        .any(|change| matches!(change, Change::PsgiApp(_)));
    !has_app && changes.iter().any(names_psgi)
}

/// An unknown name: what it would have belonged to, or the nearest name.
fn unknown(name: &Word) -> Fault {
    let lower = name.text.to_ascii_lowercase();
    let fault = Fault::new(name.at, format!("there is no directive `{}`", name.text));
    let all = Directive::all().flat_map(|row| row.names());
    let nearer = fault.clone().or_nearest(&name.text, all);
    if nearer != fault {
        return nearer;
    }
    let begins = |starts: &[&str]| starts.iter().any(|start| lower.starts_with(start));
    let belongs_to = match () {
        _ if begins(&["perl"]) && lower.ends_with("handler") => "mod_perl's other request phases",
        _ if begins(&["ssl"]) => "TLS",
        _ if begins(&["auth"]) => "authentication",
        _ if begins(&["rewrite", "redirect"]) => "rewriting and redirects",
        _ if begins(&["proxy", "balancer"]) => "proxying",
        _ if begins(&["header", "requestheader", "expires"]) => "response headers",
        _ if begins(&[
            "addoutputfilter",
            "setoutputfilter",
            "deflate",
            "perlsetoutput",
        ]) =>
        {
            "filters"
        }
        _ => return fault,
    };
    Fault::new(
        name.at,
        format!(
            "`{}` belongs to {belongs_to}, which Mehari does not do yet",
            name.text
        ),
    )
}
