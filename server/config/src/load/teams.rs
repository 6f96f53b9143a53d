//! Finds the hosts with their own workers or their own Perl, after all files have been read.

use super::{Draft, PoolDraft, Reader};
use crate::directive::DirectivePlace;
use crate::preload::PreloadStage;
use crate::problem::{At, Fault};
use crate::team::{Own, TeamDraft};
use crate::{Directive, PerlSettings, Preloaded, Problem, Team, TeamMark};

/// A line that only a host with its own workers or Perl may have.
pub(super) struct OwnLine {
    row: &'static Directive,
    file: std::path::PathBuf,
    at: At,
}

/// The preloads that were read, each with its stage.
type Preloads = Vec<(PreloadStage, Preloaded)>;

impl Reader<'_> {
    /// Remembers a line of a virtual host that needs its own workers or Perl.
    pub(super) fn note_own_line(&mut self, row: &'static Directive, at: At) {
        if let (DirectivePlace::Team | DirectivePlace::Perl, Some(host)) =
            (row.place, &mut self.host)
        {
            host.own_lines.push(OwnLine {
                row,
                file: self.file.clone(),
                at,
            });
        }
    }

    /// Refuses `+Parent` in a host if the main server's Perl has already run code of the host's
    /// earlier lines.
    pub(super) fn check_own_perl(&self, had: Own, at: At) -> Result<(), Fault> {
        let own = self.host.as_ref().map_or(had, |host| host.team.own);
        let number = self.host_number();
        let ran = self.environment.preloads.iter();
        let mut ran = ran.take(self.environment.loaded_here);
        if had < Own::Perl && own == Own::Perl && ran.any(|(_, one)| one.host == number) {
            let message = "expected `PerlOptions +Parent` before the lines of this <VirtualHost> that run Perl";
            Err(Fault::new(at, message))
        } else {
            Ok(())
        }
    }

    /// Returns the number that the open host will have in the site.
    pub(super) fn host_number(&self) -> u32 {
        match self.host {
            Some(_) => self.hosts.len() as u32 + 1,
            None => 0,
        }
    }

    /// Returns the host whose Perl runs the lines of this host: with `+Parent` the host itself,
    /// else the main server. Also returns the settings of that Perl.
    pub(super) fn perl_of(&self, number: u32) -> (u32, PerlSettings) {
        let main = &self.main.team.perl;
        let closed = (number as usize).checked_sub(1);
        let host = closed.and_then(|index| self.hosts.get(index).or(self.host.as_ref()));
        match host.filter(|host| host.team.own == Own::Perl) {
            Some(host) => (number, host.team.perl_beside(main, Vec::new())),
            None => (0, main.clone()),
        }
    }

    /// Reports the lines that need a host with its own workers or Perl, where the host has none.
    pub(super) fn check_own_lines(&mut self) {
        for host in &self.hosts {
            let own = host.team.own;
            for OwnLine { row, file, at } in &host.own_lines {
                if host.team.pool.is_some() {
                    let message = format!(
                        "{} has no effect in a <VirtualHost> with PerlPool; expected it in the \
                         <PerlPool>",
                        row.name
                    );
                    self.problems.push(Problem {
                        file: file.clone(),
                        line: at.line,
                        column: at.column,
                        message,
                    });
                    continue;
                }
                let missing = match row.place {
                    DirectivePlace::Perl if own < Own::Perl => "`PerlOptions +Parent`",
                    DirectivePlace::Team if own < Own::Workers => {
                        "`PerlOptions +Clone` or `+Parent`"
                    }
                    _ => continue,
                };
                self.problems.push(Problem {
                    file: file.clone(),
                    line: at.line,
                    column: at.column,
                    message: format!(
                        "{} has no effect in a <VirtualHost> that shares the main server's \
                         workers; expected {missing} in it",
                        row.name
                    ),
                });
            }
        }
    }
}

/// Makes the Perls and the teams of the site, and sets the Perl and the team of each host. The main
/// server's come first, then the pools'.
pub(super) fn make_teams(
    main: &mut Draft,
    hosts: &mut [Draft],
    pools: &[PoolDraft],
    mut preloads: Preloads,
) -> (Vec<PerlSettings>, Vec<Team>) {
    preloads.sort_by_key(|(stage, _)| *stage);
    let TeamDraft { perl, workers, .. } = std::mem::take(&mut main.team);
    // The lines of a host without its own Perl are added to the main server's.
    let mut perls = vec![perl.clone()];
    let mut teams = vec![Team {
        workers,
        ..Team::default()
    }];
    for draft in pools {
        let name = &draft.pool.name;
        let mine = take_preloads(&mut preloads, |one| {
            let host = (one.host as usize).checked_sub(1);
            let host = host.and_then(|index| hosts.get(index)).unwrap_or(main);
            let named = one.pool.as_ref().or(host.team.pool.as_ref());
            named == Some(name)
        });
        let mark = TeamMark::beside(&teams, &format!("PerlPool {name}"));
        teams.push(Team {
            mark,
            name: name.clone(),
            pool: Some(draft.pool.clone()),
            perl: perls.len(),
            workers: draft.team.workers.clone(),
        });
        for host in hosts.iter_mut() {
            if host.team.pool.as_ref() == Some(name) {
                (host.host.perl, host.host.team) = (perls.len(), mark);
            }
        }
        perls.push(draft.team.perl_beside(&perl, mine));
    }
    for (number, draft) in (1..).zip(hosts) {
        let team = &draft.team;
        if team.pool.is_some() {
            continue;
        }
        if team.own == Own::Perl {
            let mine = take_preloads(&mut preloads, |one| one.host == number);
            draft.host.perl = perls.len();
            perls.push(team.perl_beside(&perl, mine));
        } else {
            perls[0].pass_env.extend(team.perl.pass_env.iter().cloned());
            perls[0].set_env.extend(team.perl.set_env.iter().cloned());
        }
        if team.own > Own::Nothing {
            let name = draft.host.name();
            let mark = TeamMark::beside(&teams, &name);
            draft.host.team = mark;
            teams.push(Team {
                mark,
                name,
                pool: None,
                perl: draft.host.perl,
                workers: team.workers.clone(),
            });
        }
    }
    for (_, one) in preloads {
        add_once(&mut perls[0].preloads, one);
    }
    (perls, teams)
}

/// Takes the preloads that the test chooses out of the list.
fn take_preloads(preloads: &mut Preloads, is_mine: impl Fn(&Preloaded) -> bool) -> Vec<Preloaded> {
    let mut mine = Vec::new();
    preloads.retain(|(_, one)| {
        let is_mine = is_mine(one);
        if is_mine {
            add_once(&mut mine, one.clone());
        }
        !is_mine
    });
    mine
}

fn add_once(preloads: &mut Vec<Preloaded>, one: Preloaded) {
    if !preloads.iter().any(|known| known.what == one.what) {
        preloads.push(one);
    }
}
