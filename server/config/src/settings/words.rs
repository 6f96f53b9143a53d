//! Applies one section's changes to the settings.

use std::path::PathBuf;

use super::{etag_part, Settings};
use crate::option;
use crate::{Change, Handler, HandlerName, Phase, Rung};

/// The handler names, which are bound to handlers after all sections have been merged.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HandlerWords {
    set: Option<HandlerName>,
    by_suffix: Vec<(String, HandlerName)>,
    psgi_app: Option<PathBuf>,
}

impl HandlerWords {
    /// Applies one section's changes, then binds the handler names.
    pub fn apply(&mut self, settings: &mut Settings, changes: &[Change], location: &str) {
        settings.perl.apply(changes, location);
        settings.negotiation.apply(changes);
        let substitutions = changes.iter().filter_map(|change| match change {
            Change::Substitution(change) => Some(change),
            _ => None,
        });
        settings.output.substitutions.apply(substitutions);
        let mut index_begun = false;
        for change in changes {
            match change {
                Change::SetHandler(name) => self.set = Some(name.clone()),
                Change::AddHandler(suffix, name) => put(&mut self.by_suffix, suffix, name.clone()),
                Change::PsgiApp(file) => self.psgi_app = Some(file.clone()),
                Change::DirectoryIndex(names) => {
                    if !index_begun || names.is_empty() {
                        settings.files.directory_index.clear();
                    }
                    index_begun = true;
                    settings.files.directory_index.extend_from_slice(names);
                }
                Change::RemoveHandler(suffix) => {
                    self.by_suffix.retain(|(known, _)| known != suffix)
                }
                other => settings.change(other),
            }
        }
        self.bind(settings);
    }

    fn bind(&self, settings: &mut Settings) {
        if let Some(name) = &self.set {
            settings.handlers.set = self.handler(name, settings);
        }
        if !self.by_suffix.is_empty() || !settings.handlers.by_suffix.is_empty() {
            let handlers = self.by_suffix.iter();
            let bound: Vec<(String, Handler)> = handlers
                .filter_map(|(suffix, name)| Some((suffix.clone(), self.handler(name, settings)?)))
                .collect();
            settings.handlers.by_suffix = bound;
        }
    }

    fn handler(&self, name: &HandlerName, settings: &Settings) -> Option<Handler> {
        Some(match name {
            HandlerName::Unset => return None,
            HandlerName::File => Handler::File,
            HandlerName::Report(report) => Handler::Report(*report),
            HandlerName::TypeMap => Handler::TypeMap,
            HandlerName::CgiScript => Handler::Script(Rung::Cgi),
            HandlerName::Psgi => Handler::Psgi(self.psgi_app.clone()?),
            HandlerName::Proxy(proxied) => Handler::Proxy(proxied.clone()),
            HandlerName::Named(name) => Handler::Named(name.clone()),
            HandlerName::PerlScript | HandlerName::Modperl => {
                let perl_script = *name == HandlerName::PerlScript;
                match settings.perl.of(Phase::Response) {
                    [] => Handler::Script(Rung::Auto),
                    [one] => match Rung::of_handler(one) {
                        Some(rung) => Handler::Script(rung),
                        None => Handler::perl(one, perl_script),
                    },
                    // If there are several handlers, the worker gets all of them in Perl's part of
                    // the settings.
                    [first, ..] => Handler::perl(first, perl_script),
                }
            }
        })
    }
}

impl Settings {
    /// Applies a change that sets only one field.
    fn change(&mut self, change: &Change) {
        match change {
            Change::AddType(suffix, media_type) => {
                put(&mut self.files.types, suffix, media_type.clone())
            }
            Change::Options { clear, on, off } => self.allow(*clear, *on, *off),
            Change::ParseHeaders(on) => self.programs.parse_headers = *on,
            Change::SetEnv(name, value) => {
                put(&mut self.programs.set_env, name, value.clone());
            }
            Change::PerlSetEnv(name, value) => {
                put(&mut self.programs.perl_env, name, value.clone());
            }
            Change::UnsetEnv(name) => self.programs.set_env.retain(|(known, _)| known != name),
            Change::SetVar(name, value) => {
                put(&mut self.programs.set_var, name, vec![value.clone()])
            }
            Change::AddVar(name, value) => {
                match self
                    .programs
                    .set_var
                    .iter_mut()
                    .find(|(known, _)| known == name)
                {
                    Some((_, values)) => values.push(value.clone()),
                    None => self
                        .programs
                        .set_var
                        .push((name.clone(), vec![value.clone()])),
                }
            }
            Change::RequestTimeout(time) => self.limits.timeout = *time,
            Change::SlowRequestTime(time) => self.limits.slow = Some(*time),
            Change::BodyLimit(bytes) => self.limits.body = *bytes,
            Change::ErrorDocument(status, document) => {
                self.error_documents.retain(|(known, _)| known != status);
                // This word takes an outer section's document away.
                if document != "default" {
                    self.error_documents.push((*status, document.clone()));
                }
            }
            Change::DirectorySlash(on) => self.files.directory_slash = *on,
            Change::DirectoryIndexRedirect(status) => self.files.index_redirect = *status,
            Change::FileEtag { clear, on, off } => {
                let kept = if *clear { 0 } else { self.files.etag };
                let parts = (kept | on) & !off;
                // Any other part takes `None` away.
                self.files.etag = match parts & !etag_part::NONE {
                    0 => parts,
                    others => others,
                };
            }
            Change::ProcessLimit(resource, limit) => {
                let limits = &mut self.programs.process_limits;
                limits.retain(|(known, _)| known != resource);
                limits.push((*resource, *limit));
            }
            Change::Listing(change) => self.files.listings.change(change),
            Change::CheckSpelling(on) => self.files.spelling.checked = *on,
            Change::CheckCaseOnly(on) => self.files.spelling.case_only = *on,
            Change::CheckBasenames(on) => self.files.spelling.basenames = *on,
            Change::CopyFiles(on) => self.files.copied = *on,
            Change::MaxRanges(limit) => self.files.ranges.ranges = *limit,
            Change::MaxRangeOverlaps(limit) => self.files.ranges.overlaps = *limit,
            Change::MaxRangeReversals(limit) => self.files.ranges.reversals = *limit,
            Change::FallbackResource(path) => self.files.fallback.clone_from(path),
            Change::AcceptPathInfo(accept) => self.files.accept_path_info = *accept,
            Change::Rewound(on) => self.programs.rewound = *on,
            Change::PerlPool(pool) => self.programs.pool = Some(pool.clone()),
            Change::PassAuthorization(pass) => self.programs.pass_authorization = *pass,
            Change::PreserveHost(on) => self.proxy.preserve_host = *on,
            Change::ProxyAddHeaders(on) => self.proxy.add_headers = *on,
            Change::ProxyAddForwarded(on) => self.proxy.add_forwarded = *on,
            Change::ProxyForwarded(rule) => self.proxy.forwarded = *rule,
            Change::ProxyVia(via) => self.proxy.via = *via,
            Change::ErrorOverride(statuses) => self.proxy.error_override = statuses.clone(),
            Change::ProxyTimeout(time) => self.proxy.timeout = Some(*time),
            Change::TunnelTimeout(time) => self.proxy.tunnel_timeout = Some(*time),
            Change::ProxyReverse(url, path) => put(&mut self.proxy.reverse, url, path.clone()),
            Change::CookieDomain(from, to) => put(&mut self.proxy.cookie_domain, from, to.clone()),
            Change::CookiePath(from, to) => put(&mut self.proxy.cookie_path, from, to.clone()),
            Change::SendFile(on) => self.proxy.send_file = *on,
            Change::SendFileRoot(root) => self.proxy.send_file_roots.push(root.clone()),
            Change::Traffic(rule) => {
                self.limits
                    .traffic
                    .retain(|outer| !outer.is_replaced_by(rule));
                self.limits.traffic.push(rule.clone());
            }
            Change::Compression(change) => self.output.compression.change(change),
            Change::Includes(change) => self.output.includes.change(change),
            Change::LogLevel(level) => {
                (self.programs.log_level, self.programs.perl_log_level) = (Some(*level), None);
            }
            Change::PerlLogLevel(level) => self.programs.perl_log_level = Some(*level),
            Change::PerlHandler(Phase::OutputFilter, _) => self.output.includes.note_perl_filter(),
            Change::Cache(change) => self.cache.change(change),
            Change::TrackUploads(on) => self.tracking.uploads = *on,
            Change::TraceParents(on) => self.tracking.trace_parents = *on,
            Change::ServerTiming(clients) => self.tracking.server_timing = clients.clone(),
            Change::RequireTls => self.tls.required = true,
            Change::TlsUserName(name) => self.tls.user_name = Some(name.clone()),
            Change::TlsVariables(on) => self.programs.tls_variables = *on,
            Change::TlsCertificates(on) => self.programs.tls_certificates = *on,
            Change::StrictTransport(value) => self.tls.strict_transport.clone_from(value),
            Change::Lua(..) | Change::LuaInstructions(_) | Change::LuaMemory(_) => {
                self.lua.change(change)
            }
            // Other changes belong to `Media` or `Rules`, or `HandlerWords::apply` handles them.
            other => self.media.change(other),
        }
    }

    fn allow(&mut self, clear: bool, on: u8, off: u8) {
        if clear {
            self.handlers.exec_cgi = false;
            self.files.listed = false;
            self.files.multi_views = false;
            self.output.includes.allowed = false;
            self.output.includes.may_exec = false;
        }
        let set = |bit: u8, known: &mut bool| match (on & bit != 0, off & bit != 0) {
            (true, _) => *known = true,
            (_, true) => *known = false,
            _ => {}
        };
        set(option::EXEC_CGI, &mut self.handlers.exec_cgi);
        set(option::INDEXES, &mut self.files.listed);
        set(option::MULTI_VIEWS, &mut self.files.multi_views);
        set(option::INCLUDES, &mut self.output.includes.allowed);
        set(option::INCLUDES_EXEC, &mut self.output.includes.may_exec);
        // IncludesNOEXEC forbids the commands that Includes of an outer section allows.
        let parsed_only = on & (option::INCLUDES | option::INCLUDES_EXEC) == option::INCLUDES;
        self.output.includes.may_exec &= !parsed_only && self.output.includes.allowed;
        self.files.links.change(clear, on, off);
    }
}

pub(crate) fn put<T>(list: &mut Vec<(String, T)>, name: &str, value: T) {
    match list.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value,
        None => list.push((name.to_string(), value)),
    }
}
