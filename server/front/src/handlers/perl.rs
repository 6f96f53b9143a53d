//! Gives requests to Perl: chooses the visible header fields and makes the call for the pool.

use crate::content::media;
use crate::request::virtual_root::{self, document_root};
use crate::request::{canonical, path_of, trace, Request, Table};
use crate::routing::{mapping, Route, RouteOutcome};
use crate::shared::{exact, Backends, PerlExchange};
use mehari_config::{Handler, Host, LogLevel, Phase, Rung, Settings, Site};
use mehari_http::path::Path;
use mehari_pool::{
    AccessResult, Body, Call, ConnectionFacts, InternalRedirect, Login, MappedPath, PerlSettings,
    RequestLine, ScriptEnvironment, Task, TimeLimits,
};
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;

/// Gives a complete request to the pool, or to the pool of an exact profile.
pub fn submit(
    backends: &Backends,
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    body: Body<'_>,
) -> PerlExchange {
    with_call(request, route, site, body, |mut call| {
        leave_program(&mut call);
        if backends.exact.is_armed() {
            if let Some(pool) = backends.exact.pool_for(request, &mut call) {
                return PerlExchange::Workers(pool.submit(call));
            }
        }
        backends.pool.submit(call)
    })
}

/// Leaves a CGI program to the front: Perl runs only its phases.
pub fn leave_program(call: &mut Call<'_>) {
    if let Task::Script {
        rung: Rung::Cgi,
        file,
    } = call.task
    {
        call.task = Task::Front {
            file,
            is_program: true,
            is_file: false,
            is_plain: false,
        };
    }
}

/// Calls `give` with the request in the form in which a program gets it.
pub fn with_call<T>(
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    body: Body<'_>,
    give: impl FnOnce(Call<'_>) -> T,
) -> T {
    // These values must outlive the variables that borrow them.
    let (certificates, status, redirect_url);
    let fields = visible_fields(request);
    let settings = &route.settings;
    let host = site.host(route.host);
    let by_perl = set_variables(route, host);
    let is_by_perl = |name: &str| by_perl.iter().any(|(known, _)| known == name);
    let set = settings.programs.set_env.iter();
    let set = set.filter(|(name, _)| !is_by_perl(name));
    let set_env = set.clone().count();
    let perl_set_env = by_perl.len();
    let configured = set.chain(by_perl);
    let mut variables: Table = configured
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect();
    if let Some(session) = &request.peer.tls {
        if let Some(name) = &session.name {
            variables.push((b"SSL_TLS_SNI", name.as_bytes()));
        }
        if settings.programs.tls_variables {
            session.variables().for_each(|field| variables.push(field));
        }
        if settings.programs.tls_certificates {
            certificates = session.client_pem();
            let named = certificates.iter();
            named.for_each(|(name, pem)| variables.push((name.as_bytes(), pem.as_bytes())));
        }
    }
    if let Some(state) = request.rule_state {
        // As in Apache, `SetEnv` comes after `SetEnvIf` and rewriting.
        let is_set = |name: &[u8]| variables[..set_env].iter().any(|(set, _)| *set == name);
        let noted = state.variables.iter().filter(|(name, _)| !is_set(name));
        let noted: Table = noted.map(|(name, value)| (&**name, &**value)).collect();
        variables.extend(noted);
        // If Perl's handlers choose the user, the worker sets the user and the authentication type.
        let is_known = !settings.runs_phases();
        let identity = &state.identity;
        identity
            .client_variables()
            .filter(|(name, _)| is_known || *name != b"REMOTE_USER")
            .for_each(|field| variables.push(field));
        if let Some(kind) = identity.auth_type().filter(|_| is_known) {
            variables.push((b"AUTH_TYPE", kind));
        }
    }
    if let Some(parent) = request
        .field("traceparent")
        .filter(|_| trace::has_trace(request))
    {
        variables.push((b"TRACEPARENT", parent));
    }
    if host.names.is_https && request.peer.tls.is_none() {
        variables.push((b"REQUEST_SCHEME", b"https"));
    }
    if settings.programs.pass_authorization {
        let given = request.field("authorization");
        given
            .into_iter()
            .for_each(|value| variables.push((b"HTTP_AUTHORIZATION", value)));
    }
    let admin = host.server_admin.as_deref();
    if let Some(admin) = admin.filter(|_| is_for_perl(route)) {
        variables.push((b"SERVER_ADMIN", admin.as_bytes()));
    }
    if let Some(action) = &route.action {
        variables.push((b"REDIRECT_STATUS", b"200"));
        variables.push((b"REDIRECT_HANDLER", action.name.as_bytes()));
        variables.push((b"REDIRECT_URL", &action.path));
        if !request.query().is_empty() {
            variables.push((b"REDIRECT_QUERY_STRING", request.query()));
        }
    } else if let Some((redirect, from)) = request.redirected_from() {
        status = redirect.status.to_string();
        variables.push((b"REDIRECT_STATUS", status.as_bytes()));
        // As in Apache, this is the decoded path.
        let path = Path::decode_as(path_of(from), host.mapping.encoded_slashes());
        redirect_url = path.map_or_else(|_| path_of(from).to_vec(), |path| path.merged);
        variables.push((b"REDIRECT_URL", &redirect_url));
        if redirect.status >= 400 {
            variables.push((b"REDIRECT_REQUEST_METHOD", request.asked_method));
        }
        if let Some(query) = from.get(path_of(from).len() + 1..) {
            variables.push((b"REDIRECT_QUERY_STRING", query));
        }
    }
    let led = request
        .rule_state
        .and_then(|state| state.mapping.index_of.as_ref());
    let folder = route.index_of.as_deref().or(led);
    let folder_settings = folder.and_then(|folder| numbered_settings(&folder.settings, settings));
    let folder_settings = folder_settings.unwrap_or_default();
    let findings = request.rule_state.map(|state| &state.access);
    give(Call {
        task: task(route),
        line: RequestLine {
            method: request.method,
            target: request.target,
            query: request.query(),
            protocol: request.protocol.name(),
        },
        path: MappedPath {
            script_name: &route.script_name,
            path_info: &route.path_info,
            path_translated: &path_translated(host, request, &route.path_info),
            media_type: media_type(route).as_bytes(),
            coding: by_name(route, media::encoding).as_bytes(),
            languages: by_name(route, media::language).as_bytes(),
            folder: folder.map_or(b"", |folder| &folder.path),
            folder_file: folder.map_or(b"", |folder| &folder.file),
            folder_settings: &folder_settings,
            document_root: document_root(host, request.rule_state),
            file_mark: route.file_mark(),
            has_includes: !settings.output.includes.are_off(),
        },
        connection: ConnectionFacts {
            scheme: scheme(request),
            server_name: &canonical::name(request, &host.names),
            server_port: canonical::port(request, &host.names),
            server_addr: request.peer.server_addr.as_bytes(),
            remote_addr: request.peer.remote_addr.as_bytes(),
            remote_port: request.peer.remote_port,
            number: request.peer.connection,
            kept: request.peer.kept.get(),
        },
        fields: fields.as_slice(),
        environment: ScriptEnvironment {
            variables: variables.as_slice(),
            set_env_count: set_env as u16,
            perl_set_env_count: perl_set_env as u16,
            parse_headers: parses_headers(route),
            cgi_world: site.by_name.is_some(),
        },
        settings: worker_settings(route),
        access: AccessResult {
            status: match findings {
                _ if settings.denied && !settings.runs_phases() => 403,
                findings => findings.map_or(0, |access| access.status),
            },
            known: findings.map_or(0, |access| access.known),
            login: match (request.rule_state, findings) {
                (Some(state), _) if state.mapping.is_page_of(settings) => &Login::Settled,
                (_, findings) => findings.map_or(&Login::Unasked, |access| &access.login),
            },
            challenge: findings.map_or(b"", |access| &access.challenge),
        },
        led: internal_redirect(request),
        server: u16::try_from(route.host).unwrap_or(0),
        team: (settings.programs.pool.as_ref()).map_or(host.team, |pool| pool.mark),
        timeout: TimeLimits {
            hard: settings.limits.timeout,
            soft: settings.limits.slow,
        },
        log_level: match route.handler {
            Handler::Script(Rung::Cgi) => settings.programs.log_level,
            _ => perl_log_level(settings, host.own_logs.level.unwrap_or(site.logs.level)),
        },
        request_id: request.id,
        body,
        trace: request
            .trace
            .filter(|trace| {
                let clients = &settings.tracking.server_timing;
                trace.is_told() || clients.permits(&request.peer.remote_addr)
            })
            .cloned(),
    })
}

/// Returns the variables of `PerlSetEnv` that Perl sets for the response, or before.
pub fn set_variables<'s>(route: &'s Route, host: &'s Host) -> &'s [(String, String)] {
    if is_for_perl(route) {
        &route.settings.programs.perl_env
    } else {
        host.perl_env(&route.settings, Phase::Fixup)
    }
}

/// Returns the internal redirect for Perl. A redirect by a rewrite rule is left out, because it
/// happens before all handlers.
fn internal_redirect(request: &Request<'_>) -> InternalRedirect {
    let left = request.redirected_from().map(|(redirect, _)| redirect);
    let left = left.filter(|redirect| !redirect.is_by_rule());
    InternalRedirect {
        status: left.map_or(0, |redirect| redirect.status),
        depth: request.redirect.map_or(0, |redirect| redirect.count as u16),
        is_within: request.rule_state.is_some_and(|state| state.is_within),
    }
}

/// Returns the number and the text of a place's settings if they differ from those of the request
/// for a worker.
fn numbered_settings(of: &Settings, request: &Settings) -> Option<Vec<u8>> {
    let text = &of.perl.encoded.text;
    let differs = !text.is_empty() && *text != request.perl.encoded.text;
    differs.then(|| [&of.id.to_ne_bytes()[..], text].concat())
}

/// Returns the settings for the worker. They are empty if no Perl of the site would read them.
fn worker_settings(route: &Route) -> PerlSettings<'_> {
    let settings = &route.settings;
    let is_asked = match &route.handler {
        Handler::Psgi(_)
        | Handler::Proxy(_)
        | Handler::Report(_)
        | Handler::TypeMap
        | Handler::Named(_) => false,
        Handler::Script(Rung::Fork | Rung::Rewind | Rung::Auto | Rung::Cgi) => false,
        Handler::Perl { .. } | Handler::Script(_) | Handler::File => true,
    };
    if is_asked || settings.runs_phases() || route.is_filtered() {
        PerlSettings {
            number: settings.id,
            text: &settings.perl.encoded.text,
        }
    } else {
        PerlSettings::default()
    }
}

/// Returns the file that a path info names as a URL path. Empty without a path info.
fn path_translated(host: &Host, request: &Request<'_>, path_info: &[u8]) -> Vec<u8> {
    if path_info.is_empty() {
        return Vec::new();
    }
    let by_name = virtual_root::map(host, request, path_info);
    match by_name {
        Ok(Some(found)) => found.file,
        _ => mapping::map(&host.mapping, path_info).file,
    }
}

/// Returns the media type that a response has until the Perl handler sets another type. As in
/// mod_mime, the suffixes of the path decide.
fn media_type(route: &Route) -> Cow<'_, str> {
    if has_record(route) {
        media::type_by_name(&route.file, &route.settings).unwrap_or_default()
    } else {
        Cow::Borrowed("")
    }
}

/// Returns the level of Perl's log lines. Unlike `$r->log`, `warn` and the server's own log do not
/// heed the level of a section, so such a level only adds lines to those of the host.
fn perl_log_level(settings: &Settings, of_host: LogLevel) -> Option<LogLevel> {
    let programs = &settings.programs;
    let level = programs.perl_log_level.or(programs.log_level);
    level.map(|level| level.max(of_host))
}

/// Whether Perl sees `$r`: in handlers, and in the scripts of mod_perl.
fn has_record(route: &Route) -> bool {
    matches!(
        route.handler,
        Handler::Perl { .. } | Handler::File | Handler::Script(Rung::Registry | Rung::PerlRun)
    )
}

/// Returns a property that a response has by the name of its file, until the handler sets another.
fn by_name(route: &Route, property: fn(&[u8], &Settings) -> Option<String>) -> String {
    if has_record(route) || matches!(route.handler, Handler::Script(_)) {
        property(&route.file, &route.settings).unwrap_or_default()
    } else {
        String::new()
    }
}

/// Returns whether Perl runs the handler of the request.
fn is_for_perl(route: &Route) -> bool {
    match route.handler {
        Handler::Script(rung) => rung != Rung::Cgi,
        Handler::Perl { .. } | Handler::Psgi(_) => true,
        Handler::File
        | Handler::Proxy(_)
        | Handler::Report(_)
        | Handler::TypeMap
        | Handler::Named(_) => false,
    }
}

pub fn scheme(request: &Request<'_>) -> &'static [u8] {
    match request.peer.tls {
        Some(_) => b"https",
        None => b"http",
    }
}

/// Returns whether header lines are parsed from the output. Unless configured otherwise, handlers
/// and PSGI applications set header fields through their API. An `nph-` script always prints them.
fn parses_headers(route: &Route) -> bool {
    match &route.handler {
        Handler::Script(rung) => {
            mehari_cgi::is_nph(&route.file) || route.settings.parses_headers(*rung)
        }
        _ => route.settings.programs.parse_headers,
    }
}

/// Returns the program to run. If there is none, the front responds after Perl's other handlers.
fn task(route: &Route) -> Task<'_> {
    if !matches!(route.outcome, RouteOutcome::Program) {
        return Task::Front {
            file: &route.file,
            is_program: false,
            is_file: match &route.outcome {
                RouteOutcome::File(_) => true,
                RouteOutcome::Refused(problem) => problem.status == 404,
                _ => false,
            },
            is_plain: route.is_plain_file(),
        };
    }
    match &route.handler {
        Handler::Script(rung) => Task::Script {
            rung: *rung,
            file: &route.file,
        },
        Handler::File
        | Handler::Proxy(_)
        | Handler::Report(_)
        | Handler::TypeMap
        | Handler::Named(_) => Task::Script {
            rung: Rung::Cgi,
            file: &route.file,
        },
        Handler::Perl { name, perl_script } => Task::Handler {
            name: name.as_bytes(),
            file: &route.file,
            perl_script: *perl_script,
            rewound: route.settings.programs.rewound,
        },
        Handler::Psgi(file) => Task::Psgi {
            file: file.as_os_str().as_bytes(),
            rewound: route.settings.programs.rewound,
        },
    }
}

/// Returns the fields that a program may see.
///
/// Four kinds of fields are excluded: `Proxy` (it would become HTTP_PROXY, which libraries obey),
/// names with `_` (`X_Y` would look like `X-Y` in the environment), the secret of an exact profile,
/// and fields about this connection. Fields that `Connection` names are kept. This server is their
/// recipient. If they were dropped, a client could remove a field that a proxy before this server
/// has added.
pub fn visible_fields<'a>(request: &Request<'a>) -> Table<'a> {
    // An internal redirect drops the body, so the fields about the body are dropped too.
    let has_body = request
        .redirect
        .is_none_or(|redirect| redirect.keeps_request());
    let mut visible = Table::new();
    request.fields.iter().for_each(|(name, value)| {
        let is_about_body = || name.eq_ignore_ascii_case(b"content-length");
        if is_visible(name) && (has_body || !is_about_body()) {
            let is_host = name.eq_ignore_ascii_case(b"host");
            visible.push((name, if is_host { request.host } else { value }));
        }
    });
    visible
}

fn is_visible(name: &[u8]) -> bool {
    let hidden: &[&[u8]] = match name.len() {
        2 => &[b"te"],
        5 => &[b"proxy"],
        7 => &[b"upgrade", b"trailer"],
        10 => &[b"connection", b"keep-alive"],
        14 if name.eq_ignore_ascii_case(exact::FIELD.as_bytes()) => return false,
        14 => &[b"http2-settings"],
        16 => &[b"proxy-connection"],
        17 => &[b"transfer-encoding"],
        _ => &[],
    };
    !hidden
        .iter()
        .any(|hidden| name.eq_ignore_ascii_case(hidden))
        && !name.contains(&b'_')
}

#[cfg(test)]
mod tests {
    use super::is_visible;

    #[test]
    fn programs_see_no_field_that_could_stand_for_another_or_concerns_the_connection() {
        for name in [
            "Proxy",
            "proxy",
            "X_Forwarded_For",
            "Content_Length",
            "X-A_B",
            "Connection",
            "Keep-Alive",
            "Proxy-Connection",
            "TE",
            "Trailer",
            "Transfer-Encoding",
            "Upgrade",
            "HTTP2-Settings",
            "Mehari-Profile",
        ] {
            assert!(!is_visible(name.as_bytes()), "{name}");
        }
        for name in [
            "Host",
            "Cookie",
            "X-Forwarded-For",
            "Authorization",
            "Proxy-Authorization",
            "T",
        ] {
            assert!(is_visible(name.as_bytes()), "{name}");
        }
    }
}
