//! Reads `<PerlPool NAME>` sections, and resolves the names by which hosts and sections are
//! assigned to pools.

use std::path::PathBuf;
use std::sync::Arc;

use super::sections::{Open, OpenKind};
use super::{Draft, Reader};
use crate::directive::{Directive, DirectivePlace};
use crate::line::Word;
use crate::problem::{At, Fault};
use crate::team::{Own, TeamDraft};
use crate::{AssignedPool, Change, PerlPool, PreloadOrigin, TeamMark};

/// The longest name of a pool. The name stands in the names of processes.
const LONGEST_NAME: usize = 64;

/// A `<PerlPool>` that is being read.
pub(super) struct PoolDraft {
    pub pool: PerlPool,
    pub team: TeamDraft,
    /// The changes of the section's lines, which have the pool's variables.
    pub changes: Vec<Change>,
    /// The section's file, and its first and its last line.
    pub place: (PathBuf, u32, u32),
}

/// A line `PerlPool NAME`.
pub(super) struct PoolUse {
    pub name: String,
    pub file: PathBuf,
    pub at: At,
}

impl Reader<'_> {
    /// Opens a `<PerlPool NAME>`. A faulty line opens a section whose lines are still checked.
    pub(super) fn open_pool(&mut self, name: &Word, words: &[Word]) -> (OpenKind, Option<Fault>) {
        let mut around = self.open.iter();
        let fault = if around.any(|open| !matches!(open.kind, OpenKind::Read)) {
            let message = "<PerlPool> cannot stand in another section";
            Some(Fault::new(name.at, message))
        } else {
            self.pool_fault(name, words)
        };
        let place = PreloadOrigin {
            file: self.file.clone(),
            line: name.at.line,
            column: name.at.column,
        };
        let pool = PerlPool {
            name: words
                .first()
                .map_or(String::new(), |word| word.text.clone()),
            place: place.clone(),
            cgroup_place: place,
            ..PerlPool::default()
        };
        self.pool = Some(PoolDraft {
            pool,
            team: TeamDraft::default(),
            changes: Vec::new(),
            place: (self.file.clone(), name.at.line, name.at.line),
        });
        (OpenKind::Pool, fault)
    }

    /// Notes the place of a line in a `<PerlPool>` that may turn out to be wrong on this machine.
    pub(super) fn note_pool_place(&mut self, row: &Directive, at: At) {
        let place = PreloadOrigin {
            file: self.file.clone(),
            line: at.line,
            column: at.column,
        };
        match (&mut self.pool, row.name) {
            (Some(draft), "User") => draft.pool.place = place,
            (Some(draft), "PerlPoolCgroup") => draft.pool.cgroup_place = place,
            _ => {}
        }
    }

    /// Returns what is wrong with the name of a pool.
    fn pool_fault(&self, name: &Word, words: &[Word]) -> Option<Fault> {
        let [word] = words else {
            let at = words.get(1).map_or(name.at, |word| word.at);
            return Some(Fault::new(at, "expected `<PerlPool NAME>`"));
        };
        let text = word.text.as_str();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if text.is_empty() || text.len() > LONGEST_NAME || !text.bytes().all(fits) {
            let message = format!(
                "expected a name of letters, digits, `-`, `_` and `.`, at most {LONGEST_NAME}, \
                 not `{text}`"
            );
            return Some(Fault::new(word.at, message));
        }
        let known = self.pools.iter().find(|known| known.pool.name == text)?;
        let (file, line, _) = &known.place;
        let file = file.display();
        let message = format!("{file}:{line} has <PerlPool {text}> already; expected another name");
        Some(Fault::new(word.at, message))
    }

    /// Closes the open `<PerlPool>`.
    pub(super) fn close_pool(&mut self, at: At) {
        if let Some(mut draft) = self.pool.take() {
            draft.place.2 = at.line;
            self.pools.push(draft);
        }
    }

    /// Refuses a directive that cannot stand here because of a `<PerlPool>`.
    pub(super) fn check_pool_place(&self, row: &Directive, at: At) -> Result<(), Fault> {
        if self.pool.is_some() && !row.is_for_pools() {
            let message = format!(
                "{} cannot stand in <PerlPool>; expected a directive of the pool's Perl, workers, \
                 user or cgroup",
                row.name
            );
            return Err(Fault::new(at, message));
        }
        let sections = self.open.iter();
        let is_inside = |open: &Open| !matches!(open.kind, OpenKind::Read | OpenKind::Skip);
        let is_outermost = !sections.into_iter().any(is_inside);
        let expected = match row.place {
            DirectivePlace::Pool if self.pool.is_none() => "<PerlPool>",
            DirectivePlace::Inside if is_outermost => {
                "<VirtualHost>, <Location>, <Directory> or <Files>"
            }
            _ => return Ok(()),
        };
        let message = format!("{} needs a section; expected it in {expected}", row.name);
        Err(Fault::new(at, message))
    }

    /// Refuses Perl code that would run while the configuration is read, where a pool's own user
    /// has to run it.
    pub(super) fn check_no_pool(&self, what: &str, at: At) -> Result<(), Fault> {
        let in_pool = self.pool.is_some();
        let in_host = self.host.as_ref().is_some_and(|host| has_pool(&host.team));
        if !in_pool && !in_host {
            return Ok(());
        }
        let place = if in_pool {
            "<PerlPool>"
        } else {
            "a <VirtualHost> with PerlPool"
        };
        let message = format!(
            "{what} cannot stand in {place}, because it runs while the configuration is read; \
             expected PerlModule or PerlRequire"
        );
        Err(Fault::new(at, message))
    }

    /// Whether a pool's Perl, and not the one that reads the configuration, loads the preload of
    /// this host.
    pub(super) fn is_loaded_in_pool(&self, pool: Option<&str>, host: u32) -> bool {
        let closed = (host as usize).checked_sub(1);
        let host = closed.and_then(|index| self.hosts.get(index).or(self.host.as_ref()));
        pool.is_some() || host.is_some_and(|host| has_pool(&host.team))
    }

    /// Refuses `PerlPool` in a host with Perl code that has run already, or with workers of its
    /// own.
    pub(super) fn check_pool_of_host(&self, had_pool: bool, at: At) -> Result<(), Fault> {
        let Some(host) = self.host.as_ref().filter(|host| has_pool(&host.team)) else {
            return Ok(());
        };
        let number = self.host_number();
        let ran = self.environment.preloads.iter();
        let mut ran = ran.take(self.environment.loaded_here);
        if !had_pool && ran.any(|(_, one)| one.host == number) {
            let message =
                "expected `PerlPool` before the lines of this <VirtualHost> that run Perl";
            return Err(Fault::new(at, message));
        }
        if host.team.own > Own::Nothing {
            let message =
                "a <VirtualHost> has workers of its own (PerlOptions +Clone, +Parent) or \
                           those of a PerlPool, not both";
            return Err(Fault::new(at, message));
        }
        Ok(())
    }

    /// Assigns the preloads of a section that ends to the section's pool.
    pub(super) fn assign_preloads(&mut self, section: u32, changes: &[Change]) {
        let assigned = changes.iter().rev().find_map(|change| match change {
            Change::PerlPool(pool) => Some(pool.name.clone()),
            _ => None,
        });
        let Some(name) = assigned else { return };
        // The sections inside have greater numbers.
        for (_, preload) in &mut self.environment.preloads {
            if preload.section >= section && preload.pool.is_none() {
                preload.pool = Some(name.clone());
            }
        }
    }

    /// Reports each name of a pool that does not exist, and each pool with a group but no user.
    pub(super) fn check_pools(&mut self) {
        for PoolUse { name, file, at } in std::mem::take(&mut self.unchecked.pools) {
            let mut known = self.pools.iter().map(|draft| draft.pool.name.as_str());
            if known.any(|known| known == name) {
                continue;
            }
            let all = self.pools.iter().map(|draft| draft.pool.name.as_str());
            let message =
                format!("there is no `<PerlPool {name}>`; expected one in this configuration");
            let fault = Fault::new(at, message).or_nearest(&name, all);
            self.file = file;
            self.refuse(fault);
        }
        let without_user = |draft: &&PoolDraft| draft.pool.user.is_none();
        let incomplete = self.pools.iter().filter(without_user);
        let incomplete = incomplete.filter(|draft| draft.pool.group.is_some());
        let problems = incomplete.map(|draft| {
            let expected = "Group needs User; expected `User NAME` in this section";
            draft.pool.problem(expected)
        });
        let problems: Vec<_> = problems.collect();
        self.problems.extend(problems);
    }
}

/// Whether the team's host is assigned to a pool.
pub(super) fn has_pool(team: &TeamDraft) -> bool {
    team.pool.is_some()
}

/// Completes each `PerlPool NAME` of the drafts with what is known of the pool.
pub(super) fn resolve<'d>(
    drafts: impl Iterator<Item = &'d mut Draft>,
    pools: &[PoolDraft],
    marks: &[TeamMark],
) {
    let known: Vec<Arc<AssignedPool>> = (pools.iter().zip(marks))
        .map(|(draft, mark)| Arc::new(draft.assigned(*mark)))
        .collect();
    for draft in drafts {
        let sections = draft.host.sections.iter_mut();
        let sections = sections.flat_map(|section| &mut section.changes);
        for change in draft.base.iter_mut().chain(sections) {
            if let Change::PerlPool(named) = change {
                let mut known = known.iter();
                if let Some(pool) = known.find(|pool| pool.name == named.name) {
                    *named = pool.clone();
                }
            }
        }
    }
}

impl PoolDraft {
    fn assigned(&self, mark: TeamMark) -> AssignedPool {
        let variables = self.changes.iter().filter_map(|change| match change {
            Change::PerlSetEnv(name, value) => Some((name.clone(), value.clone())),
            _ => None,
        });
        AssignedPool {
            name: self.pool.name.clone(),
            mark,
            set_env: variables.collect(),
        }
    }
}
