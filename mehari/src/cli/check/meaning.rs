//! Describes a site: the server, the workers, what is served, each section and its handler.

use std::path::Path;

use mehari_config::{
    AccessFormat, AccessLogSettings, Host, NoteKind, PassFrom, PerlPool, PerlSettings, Section,
    Site, Team, TeamMark, Upstream, WorkerPolicy, FCGID,
};
use mehari_front::Survey;
use serde_json::json;

use super::{served, settings, summary};

/// How a site is described.
pub struct Description<'a> {
    /// The file or folder that was checked.
    pub what: &'a Path,
    /// `--all`: the settings of each section, and each ignored line.
    pub all: bool,
    /// What is served. `None`: only the text of the configuration was read.
    pub survey: Option<&'a Survey>,
}

/// Returns the site as JSON, with the settings of each section.
pub fn json(site: &Site, survey: Option<&Survey>) -> serde_json::Value {
    let hosts = site.hosts.iter().map(|host| sections_json(site, host));
    let hosts: Vec<_> = hosts.collect();
    let sections = sections_json(site, &site.main);
    let served = survey.map(|survey| served::json(site, survey));
    json!({
        "site": site, "sections": sections, "hosts": hosts, "served": served, "problems": [],
    })
}

fn sections_json(site: &Site, host: &Host) -> serde_json::Value {
    let sections = own_sections(site, host).iter().map(|section| {
        json!({
            "section": section.scope.to_string(),
            "within": section.within,
            "settings": host.settings_of(section),
        })
    });
    sections.collect()
}

/// Returns the sections of the host itself, without those of the main server.
fn own_sections<'s>(site: &Site, host: &'s Host) -> &'s [Section] {
    match host.number {
        0 => &host.sections,
        _ => &host.sections[site.main.sections.len()..],
    }
}

/// Returns the site as a page of text.
pub fn text(site: &Site, description: &Description<'_>) -> String {
    let mut page = Page(String::new());
    page.heading(&summary::headline(site, description.what));
    server(&mut page, site);
    if let Some(survey) = description.survey {
        served::lines(&mut page, site, survey);
    }
    let has_directives = !site.source.files.is_empty();
    if description.all || !has_directives {
        page.heading("\nEverywhere");
        settings::base(&mut page, site);
        sections(&mut page, site, &site.main);
        for (team, pool) in site.pools() {
            perl_pool(&mut page, site, team, pool);
        }
        for host in &site.hosts {
            virtual_host(&mut page, site, host);
        }
        notes(&mut page, site);
    } else {
        summary::remarks(&mut page, site);
        summary::ignored(&mut page, site);
        summary::honoured(&mut page, site);
        page.heading("\nmehari check --all adds the settings of each section.");
    }
    page.0
}

fn sections(page: &mut Page, site: &Site, host: &Host) {
    for section in own_sections(site, host) {
        let within = section.within.as_ref();
        let within = within.map_or(String::new(), |folder| format!(" in {folder}"));
        page.heading(&format!("\n{}{within}", section.scope));
        settings::section(page, site, &host.base, &host.settings_of(section));
    }
}

fn virtual_host(page: &mut Page, site: &Site, host: &Host) {
    let addresses: Vec<String> = host.addresses.iter().map(|at| at.to_string()).collect();
    page.heading(&format!("\n<VirtualHost {}>", addresses.join(" ")));
    let names: Vec<&str> = (host.names.server_name.iter().chain(&host.names.aliases))
        .map(String::as_str)
        .collect();
    page.line(
        "called",
        if names.is_empty() {
            "nothing: the name of no request".to_string()
        } else {
            names.join(" ")
        },
    );
    page.line("document root", host.mapping.document_root.display());
    page.list("alias", aliases(host));
    page.list("proxied", passes(host));
    team(page, site, host);
    settings::section(page, site, &site.main.base, &host.base);
    sections(page, site, host);
}

fn passes(host: &Host) -> impl Iterator<Item = String> + '_ {
    host.mapping.passes.iter().map(|pass| {
        let from = match &pass.from {
            PassFrom::Prefix(prefix) => prefix.clone(),
            PassFrom::Match(pattern) => format!("~ {pattern}"),
        };
        match &pass.to {
            None => format!("{from} is not"),
            Some(to) => format!(
                "{from} -> {}{}",
                to.upstream,
                to.to.as_deref().unwrap_or("")
            ),
        }
    })
}

fn upstream(upstream: &Upstream) -> String {
    let members: Vec<String> = upstream.members.iter().map(|one| one.name()).collect();
    let method = upstream.method.name();
    match &upstream.program {
        Some(program) => format!(
            "{}: {} processes, started here",
            upstream.name, program.processes
        ),
        None => format!("{} ({method}): {}", upstream.name, members.join(", ")),
    }
}

fn aliases(host: &Host) -> impl Iterator<Item = String> + '_ {
    host.mapping.aliases.iter().map(|alias| {
        let kind = if alias.script { " (CGI programs)" } else { "" };
        format!("{} -> {}{kind}", alias.url, alias.path.display())
    })
}

pub(super) struct Page(String);

impl Page {
    pub fn heading(&mut self, text: &str) {
        self.0.push_str(&format!("{text}\n"));
    }

    pub fn line(&mut self, label: &str, value: impl std::fmt::Display) {
        self.0.push_str(&format!("  {label:<16} {value}\n"));
    }

    /// Returns the number of bytes written so far.
    pub fn length(&self) -> usize {
        self.0.len()
    }

    pub fn list(&mut self, label: &str, values: impl IntoIterator<Item = String>) {
        for value in values {
            self.line(label, value);
        }
    }
}

fn server(page: &mut Page, site: &Site) {
    if site.listen.is_empty() {
        page.line("listen", "127.0.0.1:8080, or what --listen says")
    } else {
        page.line("listen", listen(site))
    }
    page.line(
        "server name",
        site.main
            .names
            .server_name
            .as_deref()
            .unwrap_or("the request's Host"),
    );
    page.line("document root", site.main.mapping.document_root.display());
    page.list("alias", aliases(&site.main));
    page.list("proxied", passes(&site.main));
    // The settings for FastCGI scripts stand among the upstreams, but they are no back end.
    let back_ends = site
        .back_ends
        .upstreams
        .iter()
        .filter(|one| one.name != FCGID);
    page.list("back ends", back_ends.map(upstream));
    perl(page, site.perl());
    workers(page, site.workers());
    let workers = site.workers();
    let (queue, time) = (workers.longest_queue(), workers.longest_wait());
    page.line("queue", format!("at most {queue} requests, {time:?}"));
    let limits = &site.limits;
    page.line(
        "connections",
        format!("{} at most, backlog {}", limits.connections, limits.backlog),
    );
    page.line(
        "keep-alive",
        match limits.keep_alive {
            None => "off".to_string(),
            Some(idle) => format!("{idle:?} idle at most"),
        },
    );
    page.line(
        "error log",
        format!(
            "{}, from {} on",
            target(&site.logs.error),
            format!("{:?}", site.logs.level).to_lowercase()
        ),
    );
    page.line(
        "access log",
        if site.logs.access.is_empty() {
            "off".to_string()
        } else {
            access_logs(&site.logs.access)
        },
    );
}

fn listen(site: &Site) -> String {
    let each = site.listen.iter().map(|listen| {
        if site.is_secure(listen) {
            format!("{} (TLS)", listen.address)
        } else {
            listen.address.clone()
        }
    });
    each.collect::<Vec<String>>().join(", ")
}

fn perl(page: &mut Page, perl: &PerlSettings) {
    let switches = perl.switches.join(" ");
    let command = format!("{} {switches}", perl.interpreter.display());
    page.line("perl", command.trim_end());
    let preloads = perl.preloads.iter();
    page.list(
        "loaded first",
        preloads.map(|preload| preload.what.to_string()),
    );
}

/// Describes a pool: its user, its cgroup, its Perl and its workers.
fn perl_pool(page: &mut Page, site: &Site, team: &Team, pool: &PerlPool) {
    page.heading(&format!("\n<PerlPool {}>", pool.name));
    if let Some(user) = &pool.user {
        let group = pool.group.as_ref();
        let group = group.map_or(String::new(), |group| format!(", group {group}"));
        page.line("user", format!("{user}{group}"));
    }
    if let Some(cgroup) = &pool.cgroup {
        let values = cgroup.values.iter();
        let values = values.map(|(file, value)| format!(" {file}={value}"));
        let values: String = values.collect();
        page.line("cgroup", format!("{}{values}", cgroup.path.display()));
    }
    perl(page, &site.perls[team.perl]);
    workers(page, &site.policy(team));
}

/// Describes the workers and the Perl that a virtual host has for itself.
fn team(page: &mut Page, site: &Site, host: &Host) {
    let mut teams = site.teams.iter();
    let Some(team) = teams.find(|team| team.mark == host.team && host.team != TeamMark::default())
    else {
        return;
    };
    match team.perl {
        _ if team.pool.is_some() => return page.line("workers", format!("of pool {}", team.name)),
        0 => page.line("workers", "its own, with the main server's Perl"),
        number => {
            page.line("workers", "its own, with its own Perl");
            perl(page, &site.perls[number]);
        }
    }
    workers(page, &site.policy(team));
}

fn workers(page: &mut Page, workers: &WorkerPolicy) {
    let number =
        |number: Option<u32>| number.map_or("by cores and memory".to_string(), |n| n.to_string());
    page.line("workers at most", number(workers.max));
    page.line("at start", number(workers.start));
    let spare = (workers.min_spare, workers.max_spare);
    if spare != (None, None) {
        page.line(
            "idle",
            format!("{} to {}", number(spare.0), number(spare.1)),
        );
    }
    if let Some(requests) = workers.max_requests.filter(|requests| *requests > 0) {
        page.line(
            "replaced after",
            format!("{requests} requests, give or take 20 %"),
        );
    }
    let limits = &workers.limits;
    let bytes = [
        ("replaced beyond", limits.memory, "bytes of memory"),
        (
            "replaced beyond",
            limits.unshared,
            "bytes of unshared memory",
        ),
        ("replaced below", limits.shared, "bytes of shared memory"),
    ];
    for (name, limit, unit) in bytes {
        if let Some(limit) = limit {
            page.line(name, format!("{limit} {unit}"));
        }
    }
    if let Some(time) = limits.lifetime {
        let text = format!("{} s, give or take 20 %", time.as_secs_f64());
        page.line("replaced after", text);
    }
    if let Some(idle) = limits.idle {
        let last = if idle.ends_all {
            ", the last one too"
        } else {
            ""
        };
        let text = format!("{} s{last}", idle.time.as_secs_f64());
        page.line("ends when idle for", text);
    }
}

fn access_logs(logs: &[AccessLogSettings]) -> String {
    let each = logs.iter().map(|log| {
        let format = match &log.format {
            AccessFormat::Custom(format) => format.text.as_str(),
            AccessFormat::Combined => "combined",
            AccessFormat::Json => "json",
            AccessFormat::Terminal => "terminal",
        };
        format!("{}, {format}", target(&log.target))
    });
    each.collect::<Vec<String>>().join("; ")
}

fn target(log: &mehari_config::LogTarget) -> String {
    match log {
        mehari_config::LogTarget::Stderr => "stderr".into(),
        mehari_config::LogTarget::Off => "off".into(),
        mehari_config::LogTarget::File(file) => file.display().to_string(),
        mehari_config::LogTarget::Pipe(program) => format!("|{}", program.command),
    }
}

fn notes(page: &mut Page, site: &Site) {
    for (kind, heading) in [
        (NoteKind::Remark, "\nWorth knowing"),
        (NoteKind::Ignored, "\nIgnored by design"),
    ] {
        let mut of_kind = site
            .source
            .notes
            .iter()
            .filter(|note| note.kind == kind)
            .peekable();
        if of_kind.peek().is_some() {
            page.heading(heading);
        }
        for note in of_kind {
            page.heading(&format!("  {note}"));
        }
    }
}
