//! Merging: the settings in force for one request, from the base and every matching section.
//!
//! Apache's order: `<Directory>` from the shortest path to the longest, then `<DirectoryMatch>`,
//! then `<Files>`, then `<Location>`, each in the order of the files. The order does not depend on
//! the request, so the set of matching sections decides the result, and each set is merged once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::{Change, Handler, HandlerName, Host, Order, Phase, Rung, Section, Settings};

/// Sets of up to this many sections are looked up without an allocation.
const SECTIONS_ON_STACK: usize = 16 * 64;

/// Two generations of one process never share a number: their workers may see each other's requests.
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

/// The sets of sections merged so far. A clone starts empty: its owner may differ.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    order: OnceLock<Vec<usize>>,
    known: RwLock<HashMap<Box<[u64]>, Arc<Settings>>>,
}

impl Clone for Merged {
    fn clone(&self) -> Merged {
        Merged::default()
    }
}

impl Host {
    /// The settings for a request: `url_path` decoded and normalised, `file` the file it was
    /// mapped to, when there is one. Merged on first use of a set of sections and shared after
    /// that, so a site must not be changed once it serves.
    pub fn settings(&self, url_path: &str, file: Option<&Path>) -> Arc<Settings> {
        let mut on_stack = [0u64; SECTIONS_ON_STACK / 64];
        let mut on_heap;
        let words = self.sections.len().div_ceil(64);
        let matching = match words <= on_stack.len() {
            true => &mut on_stack[..words],
            false => {
                on_heap = vec![0u64; words];
                &mut on_heap[..]
            }
        };
        for (number, section) in self.sections.iter().enumerate() {
            if section.matches(url_path, file) {
                matching[number / 64] |= 1 << (number % 64);
            }
        }
        self.merged_for(matching)
    }

    /// The settings where only this section matches: what `mehari check` tells of it.
    pub fn settings_of(&self, section: &Section) -> Settings {
        let mut settings = self.base.clone();
        let mut words = self.base_handlers.clone();
        words.apply(&mut settings, &section.changes, &section.scope.path());
        settings.tell();
        settings
    }

    fn merged_for(&self, matching: &[u64]) -> Arc<Settings> {
        let known = self.merged.known.read();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        if let Some(settings) = known.get(matching) {
            return settings.clone();
        }
        drop(known);
        let mut settings = self.merge(matching);
        let known = self.merged.known.write();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        settings.forget_location();
        let same = known.values().find(|other| {
            settings.id = other.id;
            settings == ***other
        });
        let settings = same.cloned().unwrap_or_else(|| {
            settings.id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
            settings.tell();
            Arc::new(settings)
        });
        known.insert(matching.into(), settings.clone());
        settings
    }

    fn merge(&self, matching: &[u64]) -> Settings {
        let mut settings = self.base.clone();
        let mut words = self.base_handlers.clone();
        let order = self
            .merged
            .order
            .get_or_init(|| merge_order(&self.sections));
        for &number in order {
            if matching[number / 64] & (1 << (number % 64)) != 0 {
                let section = &self.sections[number];
                words.apply(&mut settings, &section.changes, &section.scope.path());
            }
        }
        settings
    }
}

fn merge_order(sections: &[Section]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|&number| sections[number].rank());
    order
}

/// What names a handler, kept apart until every section has spoken.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HandlerWords {
    set: Option<HandlerName>,
    by_suffix: Vec<(String, HandlerName)>,
    psgi_app: Option<PathBuf>,
}

impl HandlerWords {
    /// Applies one section's changes, then binds the handler names to what is known by then.
    pub fn apply(&mut self, settings: &mut Settings, changes: &[Change], location: &str) {
        settings.perl.apply(changes, location);
        let mut access = Access::default();
        let mut index_begun = false;
        for change in changes {
            match change {
                Change::SetHandler(name) => self.set = Some(name.clone()),
                Change::AddHandler(suffix, name) => put(&mut self.by_suffix, suffix, name.clone()),
                Change::PsgiApp(file) => self.psgi_app = Some(file.clone()),
                Change::DirectoryIndex(names) => {
                    if !index_begun || names.is_empty() {
                        settings.directory_index.clear();
                    }
                    index_begun = true;
                    settings.directory_index.extend_from_slice(names);
                }
                Change::Require(_)
                | Change::Order(_)
                | Change::AllowFromAll
                | Change::DenyFromAll => access.hear(change),
                other => settings.change(other),
            }
        }
        if let Some(denied) = access.verdict() {
            settings.denied = denied;
        }
        self.bind(settings);
    }

    fn bind(&self, settings: &mut Settings) {
        if let Some(name) = &self.set {
            settings.handler = self.handler(name, settings);
        }
        if !self.by_suffix.is_empty() {
            let handlers = self.by_suffix.iter();
            let bound: Vec<(String, Handler)> = handlers
                .filter_map(|(suffix, name)| Some((suffix.clone(), self.handler(name, settings)?)))
                .collect();
            settings.add_handler = bound;
        }
    }

    fn handler(&self, name: &HandlerName, settings: &Settings) -> Option<Handler> {
        Some(match name {
            HandlerName::Unset => return None,
            HandlerName::File => Handler::File,
            HandlerName::Report(report) => Handler::Report(*report),
            HandlerName::CgiScript => Handler::Script(Rung::Cgi),
            HandlerName::Psgi => Handler::Psgi(self.psgi_app.clone()?),
            HandlerName::Proxy(proxied) => Handler::Proxy(proxied.clone()),
            HandlerName::PerlScript | HandlerName::Modperl => {
                let perl_script = *name == HandlerName::PerlScript;
                match settings.perl.of(Phase::Response) {
                    [] => Handler::Script(Rung::Auto),
                    [one] => match Rung::of_handler(one) {
                        Some(rung) => Handler::Script(rung),
                        None => Handler::perl(one, perl_script),
                    },
                    // Stacked: the worker is told all of them.
                    [first, ..] => Handler::perl(first, perl_script),
                }
            }
        })
    }
}

impl Settings {
    /// The changes that concern one field and nothing else.
    fn change(&mut self, change: &Change) {
        match change {
            Change::AddType(suffix, media_type) => {
                put(&mut self.add_type, suffix, media_type.clone())
            }
            Change::ExecCgi(on) => self.exec_cgi = *on,
            Change::ParseHeaders(on) => self.parse_headers = *on,
            Change::SetEnv(name, value) => put(&mut self.set_env, name, value.clone()),
            Change::UnsetEnv(name) => self.set_env.retain(|(known, _)| known != name),
            Change::SetVar(name, value) => put(&mut self.set_var, name, vec![value.clone()]),
            Change::AddVar(name, value) => {
                match self.set_var.iter_mut().find(|(known, _)| known == name) {
                    Some((_, values)) => values.push(value.clone()),
                    None => self.set_var.push((name.clone(), vec![value.clone()])),
                }
            }
            Change::RequestTimeout(time) => self.request_timeout = *time,
            Change::BodyLimit(bytes) => self.body_limit = *bytes,
            Change::ErrorDocument(status, document) => {
                self.error_documents.retain(|(known, _)| known != status);
                self.error_documents.push((*status, document.clone()));
            }
            Change::PreserveHost(on) => self.proxy.preserve_host = *on,
            Change::ProxyAddHeaders(on) => self.proxy.add_headers = *on,
            Change::ProxyForwarded(rule) => self.proxy.forwarded = *rule,
            Change::ErrorOverride(statuses) => self.proxy.error_override = statuses.clone(),
            Change::ProxyTimeout(time) => self.proxy.timeout = Some(*time),
            Change::TunnelTimeout(time) => self.proxy.tunnel_timeout = Some(*time),
            Change::ProxyReverse(url, path) => put(&mut self.proxy.reverse, url, path.clone()),
            Change::CookieDomain(from, to) => put(&mut self.proxy.cookie_domain, from, to.clone()),
            Change::CookiePath(from, to) => put(&mut self.proxy.cookie_path, from, to.clone()),
            Change::SendFile(on) => self.proxy.send_file = *on,
            Change::SendFileRoot(root) => self.proxy.send_file_roots.push(root.clone()),
            Change::Traffic(rule) => {
                self.traffic.retain(|outer| !outer.is_replaced_by(rule));
                self.traffic.push(rule.clone());
            }
            Change::RequireTls => self.require_tls = true,
            Change::TlsVariables(on) => self.tls_variables = *on,
            Change::TlsCertificates(on) => self.tls_certificates = *on,
            Change::StrictTransport(value) => self.strict_transport.clone_from(value),
            // Bound together with the other words of their section, in `HandlerWords::apply`.
            Change::SetHandler(_)
            | Change::AddHandler(..)
            | Change::PerlHandler(..)
            | Change::PerlOptions { .. }
            | Change::PerlWith(_)
            | Change::PerlWithout(_)
            | Change::PsgiApp(_)
            | Change::DirectoryIndex(_)
            | Change::Require(_)
            | Change::Order(_)
            | Change::AllowFromAll
            | Change::DenyFromAll => {}
        }
    }
}

fn put<T>(list: &mut Vec<(String, T)>, name: &str, value: T) {
    match list.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value,
        None => list.push((name.to_string(), value)),
    }
}

/// What one section says about access. It replaces what the sections before it said.
#[derive(Default)]
struct Access {
    /// `Require`: one grant is enough.
    required: Option<bool>,
    order: Option<Order>,
    allow: bool,
    deny: bool,
}

impl Access {
    fn hear(&mut self, change: &Change) {
        match change {
            Change::Require(granted) => {
                self.required = Some(self.required.unwrap_or(false) || *granted)
            }
            Change::Order(order) => self.order = Some(*order),
            Change::AllowFromAll => self.allow = true,
            Change::DenyFromAll => self.deny = true,
            _ => {}
        }
    }

    /// `None`: the section says nothing. Else whether access is denied.
    fn verdict(&self) -> Option<bool> {
        let old_words = self.order.is_some() || self.allow || self.deny;
        let by_old_words = old_words.then(|| match self.order.unwrap_or_default() {
            Order::DenyAllow => self.deny && !self.allow,
            Order::AllowDeny => self.deny || !self.allow,
        });
        match (self.required, by_old_words) {
            (None, denied) => denied,
            (Some(granted), denied) => Some(!granted || denied.unwrap_or(false)),
        }
    }
}
