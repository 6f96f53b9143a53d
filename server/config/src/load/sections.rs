//! Reads the lines that open and close sections.

use std::path::PathBuf;

use super::part::{misses_a_grant, InnerSection};
use super::{finish, Draft, PerlBlock, Reader};
use crate::arguments::{Arguments, Shape};
use crate::directives::{console, set_in_head};
use crate::environment::{ProxiedUrls, ProxySection};
use crate::line::{self, Character, Word};
use crate::problem::{At, Fault};
use crate::{condition, section, Change, Expression, Pattern};
use crate::{Host, NoteKind, Scope, Section, SECTIONS};

/// The deepest nesting of sections. The limit keeps later recursion from exhausting the stack.
const DEEPEST: usize = 64;

/// An open section.
pub(super) struct Open {
    /// The name as written, for messages.
    pub name: String,
    pub file: PathBuf,
    pub at: At,
    /// The number of the section. Sections inside have greater numbers.
    pub number: u32,
    pub kind: OpenKind,
}

pub(super) enum OpenKind {
    /// A true condition: its lines are read.
    Read,
    /// The lines of a virtual host.
    Host,
    /// A false condition: its lines are skipped.
    Skip,
    /// The lines of a scope.
    Scoped(Section),
    /// The lines change the enclosing section as [`InnerSection`] says.
    Inner(InnerSection, Vec<crate::Change>),
    /// `<PerlPool>`: the lines concern one pool.
    Pool,
    /// `<MDomainSet>`: the lines concern one managed domain.
    ManagedSet,
    /// `<Proxy>`: the lines concern a balancer, or access to back ends.
    Proxy(Vec<Change>),
}

impl Reader<'_> {
    pub(super) fn section_line(&mut self, content: &[Character]) -> Result<(), Fault> {
        let at = content[0].1;
        let [_, inner @ .., ('>', _)] = content else {
            return if self.is_skipping() {
                Ok(())
            } else {
                Err(Fault::new(at, "expected `>` at the end of this line"))
            };
        };
        let words = match line::words(inner) {
            Err(_) if self.is_skipping() => Vec::new(),
            words => words?,
        };
        let Some((name, rest)) = words.split_first() else {
            return if self.is_skipping() {
                Ok(())
            } else {
                Err(Fault::new(at, "expected the name of a section behind `<`"))
            };
        };
        match name.text.strip_prefix('/') {
            Some(closing) => self.close(closing, at),
            None => self.open_section(name, rest, content),
        }
    }

    fn open_section(
        &mut self,
        name: &Word,
        words: &[Word],
        content: &[Character],
    ) -> Result<(), Fault> {
        let at = content[0].1;
        let lower = name.text.to_ascii_lowercase();
        if lower == "perl" {
            let refused = if self.is_skipping() {
                None
            } else {
                self.check_no_pool("<Perl>", name.at).err()
            };
            if let Some(fault) = refused {
                self.foreign_until = Some("</perl>");
                return Err(fault);
            }
            return self.perl_block(name);
        }
        if !self.is_skipping() {
            if let Some(opened) = self.open_custom(name, words, content) {
                return opened;
            }
        }
        let (kind, fault) = if self.is_skipping() {
            (OpenKind::Skip, None)
        } else {
            self.kind_of(&lower, name, words)
        };
        if !matches!(kind, OpenKind::Read | OpenKind::Skip) {
            self.record("", content);
        }
        self.sections += 1;
        self.open.push(Open {
            name: name.text.clone(),
            file: self.file.clone(),
            at,
            number: self.sections,
            kind,
        });
        fault.map_or(Ok(()), Err)
    }

    /// Returns the kind of section that a line opens. A faulty line opens a section without effect,
    /// so that the lines inside are still checked.
    fn kind_of(&mut self, lower: &str, name: &Word, words: &[Word]) -> (OpenKind, Option<Fault>) {
        let conditions = ["ifmodule", "ifdefine", "ifversion", "iffile"];
        let conditions = conditions.into_iter().chain(["ifdirective", "ifsection"]);
        if self.pool.is_some() && !conditions.into_iter().any(|known| known == lower) {
            let message = format!("<{}> cannot stand in <PerlPool>", name.text);
            return (OpenKind::Skip, Some(Fault::new(name.at, message)));
        }
        if let Some(part) = self.part(lower, name, words) {
            let parts = self.open.iter();
            let parts = parts.filter(|open| matches!(open.kind, OpenKind::Inner(..)));
            if parts.count() >= DEEPEST {
                let message = format!("expected sections no deeper than {DEEPEST}");
                return (OpenKind::Skip, Some(Fault::new(name.at, message)));
            }
            return match part {
                Ok(part) => (OpenKind::Inner(part, Vec::new()), None),
                // The lines of the section are read too, so that all problems are reported.
                Err(fault) => {
                    let always = InnerSection::If(Expression::always());
                    (OpenKind::Inner(always, Vec::new()), Some(fault))
                }
            };
        }
        self.conditions.retain(|depth, _| *depth < self.open.len());
        match lower {
            "ifmodule" | "ifdefine" | "ifversion" | "iffile" | "ifdirective" | "ifsection" => {
                let root = &self.site.server_root;
                match condition::holds(lower, name, words, &self.environment.definitions, root) {
                    Ok(true) => (OpenKind::Read, None),
                    Ok(false) => (OpenKind::Skip, None),
                    Err(fault) => (OpenKind::Read, Some(fault)),
                }
            }
            "virtualhost" => self.virtual_host(name, words),
            "perlpool" => self.open_pool(name, words),
            "mdomainset" | "mdomain" => {
                let fault = self.managed_set(name, words).err();
                (OpenKind::ManagedSet, fault)
            }
            "proxy" => (OpenKind::Proxy(Vec::new()), self.proxy(name, words).err()),
            "proxymatch" => {
                let fault = self.proxy_match(name, words).err();
                (OpenKind::Proxy(Vec::new()), fault)
            }
            "directory" | "directorymatch" | "files" | "filesmatch" | "location"
            | "locationmatch" => {
                let (section, fault) = self.scoped(lower, name, words);
                (OpenKind::Scoped(section), fault)
            }
            _ if self.skips_unknown() => (OpenKind::Skip, None),
            _ => {
                let known = SECTIONS.iter().map(|kind| kind.name);
                let fault = Fault::new(name.at, format!("there is no section <{}>", name.text));
                (OpenKind::Skip, Some(fault.or_nearest(&name.text, known)))
            }
        }
    }

    /// Opens a `<ProxyMatch REGEX>`.
    fn proxy_match(&mut self, name: &Word, words: &[Word]) -> Result<(), Fault> {
        self.is_outermost(name)?;
        let [word] = words else {
            return Err(Fault::new(name.at, "expected `<ProxyMatch REGEX>`"));
        };
        let pattern = Pattern::new(&word.text).map_err(|why| {
            let message = format!("expected a regular expression ({why}), not `{}`", word.text);
            Fault::new(word.at, message)
        })?;
        let urls = ProxiedUrls::Matching(pattern);
        self.push_proxy(urls, name.at);
        Ok(())
    }

    fn push_proxy(&mut self, urls: ProxiedUrls, at: At) {
        self.environment.proxied.push(ProxySection {
            urls,
            changes: Vec::new(),
            file: self.file.clone(),
            at,
        });
    }

    pub(super) fn is_outermost(&self, name: &Word) -> Result<(), Fault> {
        let mut around = self.open.iter();
        if around.any(|open| {
            matches!(
                open.kind,
                OpenKind::Scoped(_) | OpenKind::Proxy(_) | OpenKind::ManagedSet
            )
        }) {
            let message = format!("<{}> cannot stand in another section", name.text);
            return Err(Fault::new(name.at, message));
        }
        Ok(())
    }

    /// Opens a `<Proxy balancer://name>`, `<Proxy http://host/path*>` or `<Proxy *>`.
    fn proxy(&mut self, name: &Word, words: &[Word]) -> Result<(), Fault> {
        self.is_outermost(name)?;
        let Some((word, parameters)) = words.split_first() else {
            let message = "expected `<Proxy balancer://NAME>`, `<Proxy URL>` or `<Proxy *>`";
            return Err(Fault::new(name.at, message));
        };
        let lower = word.text.to_ascii_lowercase();
        let is_url = |url: &str| {
            let schemes = ["http://", "https://", "fcgi://", "scgi://", "uwsgi://"];
            schemes.iter().any(|scheme| url.starts_with(scheme)) || url.starts_with("unix:")
        };
        let balancer = lower.strip_prefix("balancer://");
        let urls = match balancer.map(|name| name.trim_end_matches('/')) {
            Some(name) if !name.is_empty() => {
                let url = format!("balancer://{name}");
                self.environment.balancer = Some(url.clone());
                url
            }
            None if word.text == "*" => String::new(),
            None if is_url(&lower) => {
                self.environment.back_end = Some(word.text.clone());
                lower
            }
            _ => {
                let message = format!(
                    "expected balancer://NAME, a URL or `*`, not `{}`",
                    word.text
                );
                return Err(Fault::new(word.at, message));
            }
        };
        self.push_proxy(ProxiedUrls::Below(urls), name.at);
        self.set_proxy(name, parameters)
    }

    /// Sets the parameters of `<Proxy URL NAME=VALUE...>`.
    fn set_proxy(&mut self, name: &Word, words: &[Word]) -> Result<(), Fault> {
        if words.is_empty() {
            return Ok(());
        }
        let shape = Shape::Words {
            usage: "NAME=VALUE...",
            least: 0,
            most: usize::MAX,
        };
        let arguments = Arguments {
            name: "<Proxy>",
            shape: &shape,
            words,
            end: name.at,
        };
        set_in_head(&mut self.site, &self.environment, &arguments)
    }

    /// Closes a `<Proxy>` or `<ProxyMatch>`. Its lines apply to the paths that are proxied to its
    /// URLs.
    fn close_proxy(&mut self, changes: Vec<Change>) {
        self.environment.balancer = None;
        self.environment.back_end = None;
        if let Some(section) = self.environment.proxied.last_mut() {
            section.changes = changes;
        }
    }

    /// Begins a section of Perl code. The code may look like directives, so the whole section is
    /// skipped even inside a false condition.
    fn perl_block(&mut self, name: &Word) -> Result<(), Fault> {
        self.foreign_until = Some("</perl>");
        if !self.is_skipping() {
            self.perl_block = Some(PerlBlock {
                at: name.at,
                code: String::new(),
            });
            self.add_note("Perl", name.at, NoteKind::Honoured, String::new());
        }
        Ok(())
    }

    fn virtual_host(&mut self, name: &Word, words: &[Word]) -> (OpenKind, Option<Fault>) {
        let mut around = self.open.iter();
        if around.any(|open| !matches!(open.kind, OpenKind::Read)) {
            let message = "<VirtualHost> cannot stand in another section";
            return (OpenKind::Read, Some(Fault::new(name.at, message)));
        }
        let (addresses, fault) = match section::addresses(name, words) {
            Ok(addresses) => (addresses, None),
            Err(fault) => (Vec::new(), Some(fault)),
        };
        let empty = self.main.host.base.clone();
        self.host = Some(Draft::of(Host::virtual_host(addresses, empty)));
        (OpenKind::Host, fault)
    }

    fn scoped(&self, lower: &str, name: &Word, words: &[Word]) -> (Section, Option<Fault>) {
        let around = self.open.iter().rev().find_map(|open| match &open.kind {
            OpenKind::Scoped(section) => Some((open, Some(section))),
            OpenKind::Inner(..) => Some((open, None)),
            _ => None,
        });
        let is_files = lower.starts_with("files");
        let (within, misplaced) = match around {
            None => (None, None),
            Some((open, section)) => match section.map(|section| &section.scope) {
                Some(folder @ (Scope::Directory(_) | Scope::DirectoryMatch(_))) if is_files => {
                    (Some(folder.clone()), None)
                }
                _ => {
                    let message = format!("<{}> cannot stand in <{}>", name.text, open.name);
                    (None, Some(Fault::new(name.at, message)))
                }
            },
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

    /// Returns the changes of the innermost open section, or of the host.
    pub(super) fn innermost(&mut self) -> &mut Vec<crate::Change> {
        let open = self.open.iter_mut().rev();
        let innermost = open.into_iter().find_map(|open| match &mut open.kind {
            OpenKind::Scoped(section) => Some(&mut section.changes),
            OpenKind::Inner(_, changes) => Some(changes),
            _ => None,
        });
        let draft = self.host.as_mut().unwrap_or(&mut self.main);
        innermost.unwrap_or(&mut draft.base)
    }

    /// Closes the sections that were left open, the innermost first.
    pub(super) fn close_down_to(&mut self, depth: usize) {
        let closed: Vec<Open> = self.open.drain(depth.min(self.open.len())..).collect();
        for open in closed {
            match open.kind {
                OpenKind::Host => self.hosts.extend(self.host.take()),
                OpenKind::Pool => self.close_pool(open.at),
                _ => {}
            }
        }
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
                // If an outer section has this name, the inner sections were left open. Otherwise
                // the name is wrong, and the line closes the innermost section.
                let innermost = self.open.len() - 1;
                let meant = self.open.iter().rposition(here).unwrap_or(innermost);
                self.close_down_to(meant);
                return Err(Fault::new(at, expected));
            }
            _ => {
                return Err(Fault::new(
                    at,
                    format!("</{name}> closes nothing that is open in this file"),
                ))
            }
        }
        self.environment.conditions.clear();
        let depth = self.open.len();
        self.conditions.retain(|known, _| *known < depth);
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        if !matches!(open.kind, OpenKind::Read | OpenKind::Skip) {
            let closing = format!("</{}>", open.name);
            self.record_text(at, &closing);
        }
        match open.kind {
            OpenKind::Scoped(section) => {
                if finish::wants_app(&section.changes) {
                    self.unchecked.without_app.push((open.file, open.at));
                }
                self.assign_preloads(open.number, &section.changes);
                let useless = finish::isolates_nothing(&section.changes)
                    .or_else(|| console::unprotected(&section.changes))
                    .or_else(|| misses_a_grant(&section.changes));
                let draft = self.host.as_mut().unwrap_or(&mut self.main);
                draft.host.sections.push(section);
                if let Some(message) = useless {
                    return Err(Fault::new(open.at, message));
                }
            }
            OpenKind::Inner(part, changes) => {
                let changes = part.close(changes);
                let changes = changes.map_err(|why| Fault::new(open.at, why))?;
                self.innermost().extend(changes);
            }
            OpenKind::Host => self.hosts.extend(self.host.take()),
            OpenKind::Pool => self.close_pool(at),
            OpenKind::ManagedSet => self.environment.managed_set = None,
            OpenKind::Proxy(changes) => self.close_proxy(changes),
            OpenKind::Read | OpenKind::Skip => {}
        }
        Ok(())
    }
}
