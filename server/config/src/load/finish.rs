//! Ends the reading: makes the checks that need the whole configuration, and finishes the hosts.

use std::path::PathBuf;

use super::{pools, proxied, teams, Draft, Reader};
use crate::problem::{At, Fault};
use crate::{Change, HandlerName, Host, Phase, Problem, Problems, Rung, Site, TeamMark};

impl Draft {
    /// Finishes the host. A virtual host inherits the settings of the main server.
    fn finish(self, main: Option<&Host>) -> Host {
        let Draft { mut host, base, .. } = self;
        host.rules.apply(&base, &host.sections);
        if let Some(main) = main {
            host.inherit(main);
        }
        host.rules.note_places(&base, &host.sections);
        host.base_handlers.apply(&mut host.base, &base, "");
        if main.is_none() {
            host.outer_env.clone_from(&host.base.programs.perl_env);
        }
        host.base.change_rules(&base, None, false);
        host.base.rules.of_host = host.rules.place_rules();
        host.base.encode_for_worker();
        host
    }
}

impl Reader<'_> {
    /// Makes the checks that need the whole configuration. Returns the site or all problems.
    pub(super) fn finish(self) -> Result<Site, Problems> {
        let (site, problems) = self.conclude();
        if problems.is_empty() {
            return Ok(site);
        }
        let notes = site.source.notes;
        Err(Problems { problems, notes })
    }

    /// Does the same, but returns the site in any case. If there are problems, it is the site of
    /// the lines that have none.
    pub(super) fn conclude(mut self) -> (Site, Vec<Problem>) {
        self.check_applications();
        self.check_own_lines();
        self.check_pools();
        self.check_workers();
        self.check_upstreams();
        self.check_handler_names();
        self.check_proxied_rules();
        self.check_agreement();
        let Reader {
            mut site,
            mut main,
            mut hosts,
            pools,
            environment,
            mut problems,
            notes,
            ..
        } = self;
        let place = |file: &PathBuf| site.source.files.iter().position(|known| known == file);
        problems.sort_by_key(|problem| (place(&problem.file), problem.line, problem.column));
        // Reports the problems of a file that is included twice only once.
        problems.dedup();
        for draft in hosts.iter_mut().chain([&mut main]) {
            proxied::apply(draft, &environment.proxied);
        }
        let store = &mut site.managed.store;
        *store = site.server_root.join(&*store);
        let drafts = std::iter::once(&mut main).chain(&mut hosts);
        let mut all: Vec<&mut Host> = drafts.map(|draft| &mut draft.host).collect();
        crate::site::managed_hosts::assign(&mut site.managed, &mut all);
        for draft in std::iter::once(&mut main).chain(&mut hosts) {
            if draft.host.tls.require_https == Some(crate::RequireHttps::Permanent) {
                let line = "Strict-Transport-Security: max-age=15768000\r\n".to_owned();
                draft.base.insert(0, Change::StrictTransport(Some(line)));
            }
        }
        (site.perls, site.teams) =
            teams::make_teams(&mut main, &mut hosts, &pools, environment.preloads);
        let marks: Vec<TeamMark> = site.pools().map(|(team, _)| team.mark).collect();
        let drafts = std::iter::once(&mut main).chain(&mut hosts);
        pools::resolve(drafts, &pools, &marks);
        site.main = main.finish(None);
        site.main.mapping.document_root = site.server_root.join(&site.main.mapping.document_root);
        let numbered = (1..).zip(hosts);
        site.hosts = numbered
            .map(|(number, draft)| Host {
                number,
                ..draft.finish(Some(&site.main))
            })
            .collect();
        site.add_global_logs(environment.global_logs);
        if environment.keep_alive_off || environment.keeps_no_time {
            site.limits.keep_alive = None;
        }
        let timeout = site.main.base.limits.timeout.as_secs() + 1;
        for program in site
            .back_ends
            .upstreams
            .iter_mut()
            .filter_map(|one| one.program.as_mut())
        {
            program.limit(timeout);
        }
        site.source.notes = notes;
        site.definitions = environment.definitions;
        (site, problems)
    }

    /// Reports each use of an upstream that has no members, then removes the upstreams without
    /// members.
    fn check_upstreams(&mut self) {
        for (name, file, at) in std::mem::take(&mut self.unchecked.named) {
            let known = self.site.upstream(&name);
            if known.is_some_and(|upstream| !upstream.members.is_empty()) {
                continue;
            }
            let message = if name.starts_with("balancer:") {
                format!("{name} has no members; expected `BalancerMember URL` in <Proxy {name}>")
            } else {
                format!("no program is started for {name}; expected `FastCgiServer` with this path")
            };
            self.file = file;
            self.refuse(Fault::new(at, message));
        }
        self.site
            .back_ends
            .upstreams
            .retain(|upstream| !upstream.members.is_empty());
    }

    /// Reports each handler name that neither Mehari nor an `Action` defines.
    pub(super) fn check_handler_names(&mut self) {
        for (wanted, file) in std::mem::take(&mut self.unchecked.wants_action) {
            let actions = &self.environment.definitions.actions;
            let name = wanted.name.to_ascii_lowercase();
            let may_be_missing = || {
                let known = actions.iter().map(String::as_str);
                wanted.may_be_missing && crate::nearest(&name, known).is_none()
            };
            if !actions.contains(&name) && !may_be_missing() {
                self.file = file;
                self.refuse(wanted.fault);
            }
        }
    }

    fn check_applications(&mut self) {
        let base = &self.main.base;
        if base
            .iter()
            .any(|change| matches!(change, Change::PsgiApp(_)))
        {
            return;
        }
        let mut missing = std::mem::take(&mut self.unchecked.without_app);
        if wants_app(base) {
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
}

/// Tells whether the changes choose the handler `psgi` but name no application.
pub(super) fn wants_app(changes: &[Change]) -> bool {
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

/// Returns a message if the changes of one section set `PerlIsolation rewind` and a handler that it
/// cannot isolate.
pub(super) fn isolates_nothing(changes: &[Change]) -> Option<&'static str> {
    if !changes.contains(&Change::Rewound(true)) {
        return None;
    }
    let handler = changes.iter().rev().find_map(|change| match change {
        Change::SetHandler(name) => Some(name),
        _ => None,
    })?;
    let is_script = || {
        changes.iter().any(|change| match change {
            Change::PerlHandler(Phase::Response, names) => {
                matches!(names.as_slice(), [one] if Rung::of_handler(one).is_some())
            }
            _ => false,
        })
    };
    match handler {
        HandlerName::Psgi => None,
        HandlerName::PerlScript | HandlerName::Modperl if !is_script() => None,
        HandlerName::PerlScript | HandlerName::Modperl | HandlerName::CgiScript => Some(
            "PerlIsolation has no effect on scripts; expected `PerlResponseHandler Mehari::Rewind` \
             in its place",
        ),
        _ => Some(
            "PerlIsolation has no effect here; expected `SetHandler psgi`, or a handler of the site \
             with `SetHandler modperl` or `perl-script`",
        ),
    }
}
