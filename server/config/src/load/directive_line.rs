//! Reads a line with a directive of the table: checks its place, applies it, and notes its result.

use super::part::InnerSection;
use super::{htaccess, unknown, OpenKind, PoolUse, Reader};
use crate::arguments::Arguments;
use crate::directive::{Directive, DirectivePlace, Target};
use crate::directives::managed;
use crate::line::{self, Character};
use crate::overrides::AUTH;
use crate::problem::{At, Fault};
use crate::{Note, NoteKind};

impl Reader<'_> {
    pub(super) fn directive_line(&mut self, content: &[Character]) -> Result<(), Fault> {
        let name = line::first_word(content);
        let row = match Directive::named(&name.text) {
            Some(row) => row,
            None => match self.custom(&name.text) {
                Some(directive) if self.pool.is_some() => {
                    let message = format!("{} cannot stand in <PerlPool>", directive.name);
                    return Err(Fault::new(name.at, message));
                }
                Some(directive) => return self.custom_line(directive, &name, content),
                // A `<Perl>` section that was not run may define the directive.
                None if self.skips_unknown() => return Ok(()),
                None => {
                    return Err(unknown::fault(
                        &name,
                        content,
                        &self.environment.definitions.custom,
                    ))
                }
            },
        };
        if let Some(may) = self
            .htaccess
            .as_ref()
            .filter(|may| !may.allow(row.name, row.overrides))
        {
            let refusal = htaccess::refusal(row, may);
            if !may.said.skips_forbidden {
                return Err(Fault::new(name.at, refusal));
            }
            self.add_note(row.name, name.at, NoteKind::Ignored, refusal);
            return Ok(());
        }
        self.check_pool_place(row, name.at)?;
        if let Some((section, expected)) = self.misplaced(row) {
            let message = format!(
                "{} cannot stand in <{section}>; expected {expected}",
                row.name
            );
            return Err(Fault::new(name.at, message));
        }
        if row.name == "Perl" || row.name == "PerlLoadModule" {
            self.check_no_pool(row.name, name.at)?;
        }
        if row.name == "Perl" {
            return self.perl_line(&name, content);
        }
        let words = line::words(content)?;
        let rest = words.get(1..).unwrap_or_default();
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
        let is_not = |word: &line::Word| word.text.eq_ignore_ascii_case("not");
        if row.name == "Require" && rest.first().is_some_and(is_not) {
            self.negate(name.at)?;
        }
        let commented = rest.iter().any(|word| word.text.starts_with('#'));
        let told = |fault: Fault| {
            if commented {
                fault.of_a_comment()
            } else {
                fault
            }
        };
        row.shape.check(&arguments).map_err(told)?;
        if row.place == DirectivePlace::Shared && self.host.is_some() {
            let message = "the main server's line applies to all hosts".to_string();
            self.add_note(row.name, name.at, NoteKind::Ignored, message);
            return Ok(());
        }
        let preloads = self.environment.preloads.len();
        let own = self.host.as_ref().map(|host| host.team.own);
        let had_pool = self
            .host
            .as_ref()
            .is_some_and(|host| host.team.pool.is_some());
        self.apply(row, &arguments).map_err(told)?;
        self.note_pool_place(row, name.at);
        if row.name == "MDomain" {
            self.note_managed(name.at);
        }
        self.check_own_perl(own.unwrap_or_default(), name.at)?;
        if ["PerlPool", "PerlOptions"].contains(&row.name) {
            self.check_pool_of_host(had_pool, name.at)?;
        }
        self.note_own_line(row, name.at);
        self.note(row, name.at);
        self.record(row.name, content);
        let is_maker = row.name == "PerlLoadModule";
        if is_maker || self.environment.preloads.len() > preloads {
            self.place_preloads(preloads, name.at);
            self.handle_preload(name.at, is_maker);
        }
        for (upstream, at) in self.environment.named.drain(..) {
            self.unchecked.named.push((upstream, self.file.clone(), at));
        }
        for (pool, at) in self.environment.named_pools.drain(..) {
            self.unchecked.pools.push(PoolUse {
                name: pool,
                file: self.file.clone(),
                at,
            });
        }
        for wanted in self.environment.wants_action.drain(..) {
            let file = self.file.clone();
            self.unchecked.wants_action.push((wanted, file));
        }
        if let Some(request) = self.environment.used.take() {
            return self.use_macro(request);
        }
        if let Some(name) = self.environment.forgotten.take() {
            self.forget_macro(&name);
        }
        match self.environment.include.take() {
            Some(request) => self.include(request),
            None => Ok(()),
        }
    }

    /// Tells whether lines with unknown names are skipped.
    pub(super) fn skips_unknown(&self) -> bool {
        let may = self.htaccess.as_ref();
        self.environment.is_partly_unknown || may.is_some_and(|may| may.said.skips_unknown)
    }

    /// Returns the enclosing section in which the directive must not stand, and what is expected.
    fn misplaced(&self, row: &Directive) -> Option<(&str, &'static str)> {
        let mut around = self.open.iter().rev();
        // As in Apache, containers of requirements hold directives about access and nothing else.
        let container = around.clone().find(|open| match &open.kind {
            OpenKind::Inner(part, _) => part.holds_requirements() && row.overrides & AUTH == 0,
            _ => false,
        });
        if let Some(open) = container {
            let expected = "only Require and directives about authentication there";
            return Some((open.name.as_str(), expected));
        }
        let section = around.find(|open| match open.kind {
            OpenKind::Scoped(_) | OpenKind::Inner(..) | OpenKind::Proxy(_) => {
                let inside = [DirectivePlace::Everywhere, DirectivePlace::Inside];
                !inside.contains(&row.place)
            }
            OpenKind::Host => row.place == DirectivePlace::Server,
            OpenKind::ManagedSet => !managed::IN_SET.contains(&row.name),
            OpenKind::Pool | OpenKind::Read | OpenKind::Skip => false,
        });
        section.map(|open| (open.name.as_str(), "it outside of sections"))
    }

    fn apply(&mut self, row: &Directive, arguments: &Arguments) -> Result<(), Fault> {
        self.environment.note = None;
        self.place_environment();
        let is_conditional = self.is_in_condition();
        let mut scope = None;
        let innermost = self
            .open
            .iter_mut()
            .rev()
            .find_map(|open| match &mut open.kind {
                OpenKind::Scoped(section) => {
                    scope = Some(section.scope.clone());
                    Some(&mut section.changes)
                }
                OpenKind::Inner(_, changes) | OpenKind::Proxy(changes) => Some(changes),
                _ => None,
            });
        let in_section = innermost.is_some();
        let in_host = self.host.is_some();
        let draft = self.host.as_mut().unwrap_or(&mut self.main);
        let (team, outer, pool) = match &mut self.pool {
            Some(open) => (&mut open.team, &mut open.changes, Some(&mut open.pool)),
            None => (&mut draft.team, &mut draft.base, None),
        };
        let mut target = Target {
            site: &mut self.site,
            host: &mut draft.host,
            team,
            changes: innermost.unwrap_or(outer),
            in_section,
            in_htaccess: self.htaccess.is_some(),
            is_conditional,
            scope,
            in_host,
            pool,
            environment: &mut self.environment,
        };
        (row.apply)(&mut target, arguments)
    }

    /// Notes where the current line stands, for the preloads that it makes.
    pub(super) fn place_environment(&mut self) {
        let sections = self.open.iter().rev();
        let mut sections = sections.filter(|open| matches!(open.kind, OpenKind::Scoped(_)));
        let environment = &mut self.environment;
        environment.section = sections.next().map_or(0, |open| open.number);
        environment.pool = self.pool.as_ref().map(|draft| draft.pool.name.clone());
        self.environment.host = self.host_number();
    }

    fn is_in_condition(&self) -> bool {
        let is_if = |kind: &OpenKind| matches!(kind, OpenKind::Inner(InnerSection::If(_), _));
        self.open.iter().any(|open| is_if(&open.kind))
    }

    pub(super) fn note(&mut self, row: &'static Directive, at: At) {
        let said = self.environment.note.take();
        let (kind, message) = match (row.ignored, said) {
            (Some(reason), _) => (NoteKind::Ignored, reason.to_string()),
            (None, Some(said)) => said,
            (None, None) => (NoteKind::Honoured, String::new()),
        };
        self.add_note(row.name, at, kind, message);
    }

    pub(super) fn add_note(
        &mut self,
        directive: &'static str,
        at: At,
        kind: NoteKind,
        message: String,
    ) {
        self.notes.push(Note {
            file: self.file.clone(),
            line: at.line,
            column: at.column,
            kind,
            directive,
            message,
        });
    }
}
