//! Reads the lines that Perl handles: custom directives and sections, `PerlLoadModule`, and `Perl`
//! with code.

use std::sync::Arc;

use super::sections::OpenKind;
use super::Reader;
use crate::custom::{next_container, CustomDirective, CustomUse, Standing};
use crate::line::{self, Character, Word};
use crate::preload::PreloadStage;
use crate::problem::{At, Fault};
use crate::{Change, Errand, NoteKind, Preload, Preloaded, Scope};

/// A custom section that is open, and the lines read so far.
pub(super) struct CustomSection {
    directive: Arc<CustomDirective>,
    at: At,
    raw: String,
    words: Vec<Word>,
    /// The lines inside, as written.
    lines: Vec<String>,
    /// The number of open sections of the same name inside the section.
    depth: usize,
}

impl Reader<'_> {
    pub(super) fn custom(&self, name: &str) -> Option<Arc<CustomDirective>> {
        let known = self.environment.definitions.custom.iter();
        let mut known = known.filter(|directive| !directive.is_section);
        known.find(|directive| directive.is_called(name)).cloned()
    }

    /// Reads a line with a custom directive.
    pub(super) fn custom_line(
        &mut self,
        directive: Arc<CustomDirective>,
        name: &Word,
        content: &[Character],
    ) -> Result<(), Fault> {
        directive.check_place(name, self.standing())?;
        let raw = behind_name(content, &name.text);
        let words = match directive.takes {
            crate::Takes::Raw => Vec::new(),
            _ => line::words(content)?.split_off(1),
        };
        let end = content.last().map_or(name.at, |(_, at)| At {
            line: at.line,
            column: at.column + 1,
        });
        let arguments = directive.arguments(&raw, &words, end)?;
        self.use_custom(&directive, name.at, arguments, Vec::new())
    }

    pub(super) fn standing(&self) -> Standing<'_> {
        let inside = |kind: &OpenKind| matches!(kind, OpenKind::Scoped(_) | OpenKind::Inner(..));
        match &self.htaccess {
            Some(may) => Standing::Htaccess(may),
            None if self.open.iter().any(|open| inside(&open.kind)) => Standing::Section,
            None => Standing::Server,
        }
    }

    fn use_custom(
        &mut self,
        directive: &CustomDirective,
        at: At,
        arguments: Vec<String>,
        lines: Vec<String>,
    ) -> Result<(), Fault> {
        let used = Arc::new(CustomUse {
            container: self.container(),
            server: self.host_number(),
            file: self.file.display().to_string(),
            line: at.line,
            path: self.section_path(),
            standing: self.standing().bits(),
            name: directive.name.clone(),
            arguments,
            lines,
            is_late: self.htaccess.is_some(),
        });
        self.innermost().push(Change::Custom(used.clone()));
        self.record_use(&used);
        self.add_note(
            "PerlLoadModule",
            at,
            NoteKind::Honoured,
            directive.name.clone(),
        );
        if used.is_late {
            return Ok(());
        }
        let made = self.run_errand(used.server, Errand::Directive(&used), at)?;
        let preload = Preloaded {
            host: used.server,
            ..Preload::Directive(used).into()
        };
        let known = self.environment.preloads.len();
        let preloads = &mut self.environment.preloads;
        preloads.push((PreloadStage::Loaded, preload));
        self.place_preloads(known, at);
        self.environment.loaded_here = self.environment.preloads.len();
        self.read_perl_lines(&made, at);
        Ok(())
    }

    fn record_use(&mut self, used: &CustomUse) {
        let at = At {
            line: used.line,
            column: 1,
        };
        let arguments = used.arguments.join(" ");
        if used.lines.is_empty() {
            return self.record_text(at, &format!("{} {arguments}", used.name));
        }
        self.record_text(at, &format!("<{} {arguments}>", used.name));
        for (line, text) in (at.line + 1..).zip(&used.lines) {
            self.record_text(At { line, column: 1 }, text);
        }
        self.record_text(at, &format!("</{}>", used.name));
    }

    /// Returns the number that all lines of the current section share.
    fn container(&mut self) -> u64 {
        let known = self.innermost().iter().find_map(|change| match change {
            Change::Custom(used) => Some(used.container),
            _ => None,
        });
        known.unwrap_or_else(next_container)
    }

    fn section_path(&self) -> String {
        let scoped = self.open.iter().rev().find_map(|open| match &open.kind {
            OpenKind::Scoped(section) => Some(&section.scope),
            _ => None,
        });
        scoped.map_or(String::new(), |scope: &Scope| scope.path().into_owned())
    }

    /// Opens a module's section `<Name ...>`.
    pub(super) fn open_custom(
        &mut self,
        name: &Word,
        words: &[Word],
        content: &[Character],
    ) -> Option<Result<(), Fault>> {
        let known = self.environment.definitions.custom.iter();
        let mut known = known.filter(|directive| directive.is_section);
        let directive = known
            .find(|directive| directive.is_called(&name.text))?
            .clone();
        if let Err(fault) = directive.check_place(name, self.standing()) {
            return Some(Err(fault));
        }
        self.custom_section = Some(CustomSection {
            directive,
            at: name.at,
            raw: behind_name(&content[1..content.len() - 1], &name.text),
            words: words.to_vec(),
            lines: Vec::new(),
            depth: 0,
        });
        Some(Ok(()))
    }

    /// Keeps a line of a custom section until the section closes. Returns false if no such section
    /// is open.
    pub(super) fn collect_custom(&mut self, content: &[Character]) -> bool {
        let Some(section) = &mut self.custom_section else {
            return false;
        };
        let text = line::text(content);
        let tag = text.split(|c: char| c.is_whitespace() || c == '>').next();
        let tag = tag.unwrap_or_default();
        let names = |tag: Option<&str>| tag.is_some_and(|tag| section.directive.is_called(tag));
        if names(tag.strip_prefix("</")) && section.depth == 0 {
            if let Some(section) = self.custom_section.take() {
                if let Err(fault) = self.close_custom(section) {
                    self.refuse(fault);
                }
            }
            return true;
        }
        match () {
            _ if names(tag.strip_prefix("</")) => section.depth -= 1,
            _ if names(tag.strip_prefix('<')) => section.depth += 1,
            _ => {}
        }
        section.lines.push(text);
        true
    }

    fn close_custom(&mut self, section: CustomSection) -> Result<(), Fault> {
        let arguments = section
            .directive
            .arguments(&section.raw, &section.words, section.at)?;
        self.use_custom(&section.directive, section.at, arguments, section.lines)
    }

    pub(super) fn refuse_open_custom(&mut self) {
        if let Some(section) = self.custom_section.take() {
            let name = &section.directive.name;
            let message = format!("<{name}> is not closed; expected </{name}> in the same file");
            self.refuse(Fault::new(section.at, message));
        }
    }

    /// Runs a line `Perl CODE`, which is a `<Perl>` section of one line.
    pub(super) fn perl_line(&mut self, name: &Word, content: &[Character]) -> Result<(), Fault> {
        let code = behind_name(content, &name.text);
        if code.is_empty() {
            let message = "an argument is missing; expected `Perl CODE`";
            return Err(Fault::new(name.at, message));
        }
        self.add_note("Perl", name.at, NoteKind::Honoured, String::new());
        let label = format!("{}:{}", self.file.display(), name.at.line);
        let mut behind = content.iter().skip(name.text.chars().count());
        let first = behind.find(|(character, _)| !character.is_whitespace());
        self.run_section(label, code, first.map_or(name.at, |(_, at)| *at));
        Ok(())
    }
}

/// Directives that only control the reading of files. Neither Apache's configuration tree nor
/// Mehari's contains them.
const OVER_WHEN_READ: &[&str] = &[
    "Include",
    "IncludeOptional",
    "Define",
    "UnDefine",
    "LoadModule",
    "Perl",
    "PerlLoadModule",
];

impl Reader<'_> {
    /// Keeps a line for Apache2::Directive. `name` is the directive of the line. It is empty for
    /// the line of a section.
    pub(super) fn record(&mut self, name: &str, content: &[Character]) {
        if OVER_WHEN_READ.contains(&name) {
            return;
        }
        let at = content.first().map_or(At::default(), |(_, at)| *at);
        self.record_text(at, &line::text(content));
    }

    pub(super) fn record_text(&mut self, at: At, text: &str) {
        use std::fmt::Write;
        let file = self.file.display();
        // Writing to a string cannot fail.
        let _ = writeln!(self.site.source.tree, "{file}\t{}\t{text}", at.line);
    }
}

/// Returns the text behind the directive's name, as written.
fn behind_name(content: &[Character], name: &str) -> String {
    let width = name.chars().count();
    let behind = content.get(width..).unwrap_or_default();
    line::text(behind).trim().to_string()
}
