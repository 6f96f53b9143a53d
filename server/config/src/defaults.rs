//! Makes the default configuration: applies the defaults of the directive table to an empty site.

use std::path::PathBuf;
use std::time::Duration;

use crate::arguments::Arguments;
use crate::directive::{Directive, Target};
use crate::environment::Environment;
use crate::line::{self, Lines};
use crate::team::TeamDraft;
use crate::*;

impl Site {
    /// Returns a site with the documented defaults. Each default comes from a row of
    /// [`DIRECTIVES`]. `listen` is empty, because the command line gives the address.
    pub fn defaults() -> Site {
        let mut site = empty();
        let mut host = Host::virtual_host(Vec::new(), Settings::default());
        host.mapping.document_root = PathBuf::from("htdocs");
        let mut team = TeamDraft::default();
        let mut changes = Vec::new();
        let mut environment = Environment::default();
        for row in Directive::all().filter(|row| !row.default.is_empty()) {
            let mut target = Target {
                site: &mut site,
                host: &mut host,
                team: &mut team,
                changes: &mut changes,
                in_section: false,
                in_htaccess: false,
                is_conditional: false,
                scope: None,
                in_host: false,
                pool: None,
                environment: &mut environment,
            };
            let applied = apply_text(row, row.default, &mut target);
            debug_assert!(applied.is_ok(), "{}: {applied:?}", row.name);
        }
        let mut handlers = crate::settings::HandlerWords::default();
        handlers.apply(&mut host.base, &changes, "");
        host.base_handlers = handlers;
        site.main = host;
        site.perls = vec![team.perl];
        site.teams = vec![Team {
            workers: team.workers,
            ..Team::default()
        }];
        site
    }
}

/// Applies a directive with arguments from the table itself.
pub(crate) fn apply_text(
    row: &'static Directive,
    text: &str,
    target: &mut Target,
) -> Result<(), problem::Fault> {
    let characters = Lines::of(text).next().unwrap_or_default();
    let words = line::words(&characters)?;
    let arguments = Arguments {
        name: row.name,
        shape: &row.shape,
        words: &words,
        end: problem::At { line: 1, column: 1 },
    };
    row.shape.check(&arguments)?;
    (row.apply)(target, &arguments)
}

/// Returns a site without the defaults of the table.
fn empty() -> Site {
    Site {
        listen: Vec::new(),
        server_root: PathBuf::from("."),
        access_files: Vec::new(),
        process: ProcessSettings::default(),
        source: Source::default(),
        back_ends: BackEnds::default(),
        stores: Stores::default(),
        definitions: Definitions::default(),
        main: Host::virtual_host(Vec::new(), Settings::default()),
        hosts: Vec::new(),
        any_port: false,
        sni_policy: crate::SniPolicy::default(),
        by_name: None,
        perls: Vec::new(),
        teams: Vec::new(),
        limits: ConnectionLimits {
            request_line: 0,
            fields: 0,
            field_size: 0,
            header_size: 0,
            handshake_timeout: Duration::ZERO,
            header_timeout: Duration::ZERO,
            header_rate: Default::default(),
            body_timeout: Duration::ZERO,
            body_rate: Default::default(),
            write_timeout: Duration::ZERO,
            keep_alive: None,
            keep_alive_requests: 0,
            connections: 0,
            connections_per_client: 0,
            client_prefix: 64,
            proxy_protocol: false,
            proxy_protocol_exceptions: Vec::new(),
            backlog: 0,
        },
        managed: crate::ManagedCertificates::default(),
        remote_address: None,
        times_stages: false,
        logs: LogSettings {
            access: Vec::new(),
            error: LogTarget::Stderr,
            level: LogLevel::Warn,
        },
    }
}
