//! Describes the settings of one scope: access, handler, environment, limits.

use mehari_config::{Phase, Settings, Site};

use super::{meaning::Page, output};

/// Describes all settings outside of sections.
pub(super) fn base(page: &mut Page, site: &Site) {
    lines(page, site, &site.main.base, None);
}

/// Describes the settings of a section that differ from the settings outside.
pub(super) fn section(page: &mut Page, site: &Site, base: &Settings, settings: &Settings) {
    let before = page.length();
    lines(page, site, settings, Some(base));
    for (name, _) in environment(base) {
        if !environment(settings).any(|(kept, _)| kept == name) {
            page.line("%ENV", format!("{name} is not set"));
        }
    }
    if page.length() == before {
        page.line("as outside", "nothing here differs");
    }
}

/// Returns the variables that are set for programs, some of them only for Perl.
fn environment(settings: &Settings) -> impl Iterator<Item = &(String, String)> {
    let programs = &settings.programs;
    programs.set_env.iter().chain(&programs.perl_env)
}

/// Adds a line for each setting that differs from `base`. Without `base`, adds a line for every
/// setting.
fn lines(page: &mut Page, site: &Site, settings: &Settings, base: Option<&Settings>) {
    // Whether a setting must be printed.
    macro_rules! differs {
        ($($part:ident).+) => {
            base.map_or(true, |base| base.$($part).+ != settings.$($part).+)
        };
    }
    // The members of a list that must be printed.
    macro_rules! fresh {
        ($($list:ident).+) => {
            (settings.$($list).+.iter())
                .filter(|item| base.map_or(true, |base| !base.$($list).+.contains(item)))
        };
    }
    if differs!(denied) {
        page.line("access", if settings.denied { "denied" } else { "granted" });
    }
    if differs!(handlers.set) {
        page.line("handler", handler(settings, site));
    }
    if differs!(handlers.exec_cgi) {
        let allowed = "allowed";
        let forbidden = "not allowed (Options +ExecCGI allows them)";
        page.line(
            "scripts",
            if settings.handlers.exec_cgi {
                allowed
            } else {
                forbidden
            },
        );
    }
    if differs!(programs.parse_headers) {
        let parsed = "printed by the script";
        let made = "made by `$r` under registry and perlrun, printed by the script elsewhere";
        page.line(
            "headers",
            if settings.programs.parse_headers {
                parsed
            } else {
                made
            },
        );
    }
    for (suffix, handler) in fresh!(handlers.by_suffix) {
        page.line("suffix", format!(".{suffix}: {handler}"));
    }
    for (suffix, media_type) in fresh!(files.types) {
        page.line("type", format!(".{suffix}: {media_type}"));
    }
    for (name, value) in fresh!(programs.set_env).chain(fresh!(programs.perl_env)) {
        page.line("%ENV", format!("{name} = {value}"));
    }
    for (name, values) in fresh!(programs.set_var) {
        page.line("dir_config", format!("{name} = {}", values.join(", ")));
    }
    if differs!(files.directory_index) {
        let names = settings.files.directory_index.join(" ");
        page.line("index", if names.is_empty() { "none" } else { &names });
    }
    if differs!(limits.timeout) {
        page.line("longest request", format!("{:?}", settings.limits.timeout));
    }
    if differs!(limits.body) {
        page.line(
            "largest body",
            match settings.limits.body {
                0 => "no limit".to_string(),
                bytes => format!("{bytes} bytes"),
            },
        );
    }
    for (status, document) in fresh!(error_documents) {
        page.line("error page", format!("{status}: {document}"));
    }
    output::lines(page, settings, base);
    phases(page, settings, base);
    if let Some(base) = base {
        rules(page, settings, base);
    }
}

/// Adds a line for each phase with Perl handlers. A single response handler has its line elsewhere.
fn phases(page: &mut Page, settings: &Settings, base: Option<&Settings>) {
    let outer = base.map_or(&[][..], |base| &base.perl.handlers);
    for (phase, names) in &settings.perl.handlers {
        let told = *phase == Phase::Response && names.len() == 1;
        if !told
            && !outer
                .iter()
                .any(|known| known.0 == *phase && known.1 == *names)
        {
            page.line("phase", format!("{phase:?}: {}", names.join(" ")));
        }
    }
}

/// Adds a line for each subject in which other settings differ from `base`.
fn rules(page: &mut Page, settings: &Settings, base: &Settings) {
    let (own, outer) = (&settings.rules, &base.rules);
    let access = own.require != outer.require
        || own.allow_deny != outer.allow_deny
        || own.authentication != outer.authentication;
    let headers = own.headers != outer.headers
        || own.request_headers != outer.request_headers
        || own.expires != outer.expires
        || settings.tls.strict_transport != base.tls.strict_transport;
    let subjects = [
        (access && settings.denied == base.denied, "access"),
        (headers, "header fields"),
        (own.variables != outer.variables, "variables"),
        (own.redirects != outer.redirects, "redirects"),
        (own.rewriting != outer.rewriting, "rewriting"),
        (own.conditionals != outer.conditionals, "<If>"),
        (settings.media != base.media, "media types"),
        (settings.proxy != base.proxy, "back ends"),
        (settings.limits.traffic != base.limits.traffic, "traffic"),
        (settings.lua != base.lua, "edge Lua"),
    ];
    for (_, subject) in subjects.iter().filter(|(differs, _)| *differs) {
        page.line("rules", subject);
    }
}

fn handler(settings: &Settings, site: &Site) -> String {
    match (&settings.handlers.set, site.by_name) {
        (Some(handler), _) => handler.to_string(),
        (None, Some(rung)) => {
            let rung = rung.name();
            format!("by name: *.pl, *.cgi and perl scripts on the rung `{rung}`, else the file")
        }
        (None, None) if settings.handlers.by_suffix.is_empty() => "the file".to_string(),
        (None, None) => "by suffix, else the file".to_string(),
    }
}
