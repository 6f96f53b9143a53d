//! The rules of a host and of a location after merging: access, variables, redirects, header
//! fields, expiry, rewriting, `<If>`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::{PlaceRules, Rewriting};
use crate::{
    AllowDeny, Authentication, Change, Conditional, Expires, HeaderRule, HeaderValue, Merging,
    NameLookups, NamedGroups, PlaceAlias, PlaceRedirect, RedirectRule, Requirement, RewriteMap,
    Scope, Section, VariableRule,
};

/// A host's rules that apply before a request is mapped to a file.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct HostRules {
    pub variables: Vec<Arc<VariableRule>>,
    pub rewriting: Rewriting,
    pub maps: BTreeMap<String, RewriteMap>,
    pub redirects: Vec<Arc<RedirectRule>>,
    pub virtual_roots: crate::VirtualRoots,
    /// Whether rules of sections apply before a path is mapped.
    pub begin_at_places: bool,
    /// `LuaAttractRawURL`.
    #[serde(skip)]
    pub lua: Option<crate::LuaScripts>,
}

impl HostRules {
    /// Tells whether no rule applies before mapping.
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty() && !self.map_paths()
    }

    /// Tells whether the rules may map a path in another way than the configuration's aliases do,
    /// or redirect it.
    pub fn map_paths(&self) -> bool {
        self.rewriting.is_on()
            || !self.redirects.is_empty()
            || self.virtual_roots.are_any()
            || self.begin_at_places
    }

    /// Inherits the main server's rules. The main server's redirects come after the host's own. Its
    /// rewrite rules are inherited as its and the host's `RewriteOptions` say.
    pub(crate) fn inherit(&mut self, main: &HostRules) {
        let own = std::mem::replace(&mut self.variables, main.variables.clone());
        self.variables.extend(own);
        self.redirects.extend_from_slice(&main.redirects);
        self.virtual_roots.inherit(&main.virtual_roots);
        self.begin_at_places |= main.begin_at_places;
        self.lua = self.lua.take().or_else(|| main.lua.clone());
        // As in Apache, a host without a directive of rewriting has no rules.
        if self.rewriting.is_configured {
            self.rewriting.inherit(&main.rewriting);
        }
        for (name, map) in &main.maps {
            self.maps.entry(name.clone()).or_insert_with(|| map.clone());
        }
    }

    /// Tells which of the rules read the request.
    pub(crate) fn place_rules(&self) -> PlaceRules {
        if self.rewriting.is_on() || self.begin_at_places {
            PlaceRules::Translation
        } else if self.variables.is_empty() {
            PlaceRules::Settled
        } else {
            PlaceRules::Variables
        }
    }

    /// Notes whether a rule of the host's sections applies before a path is mapped.
    pub(crate) fn note_places(&mut self, base: &[Change], sections: &[Section]) {
        let has_groups = |section: &Section| {
            matches!(section.scope, Scope::LocationMatch(_)) && section.scope.groups().is_some()
        };
        let begins =
            |section: &Section| has_groups(section) || section.changes.iter().any(is_early);
        self.begin_at_places |= base.iter().any(is_early) || sections.iter().any(begins);
    }

    /// Applies the host's lines outside of sections. `sections` are the host's own.
    pub(crate) fn apply(&mut self, changes: &[Change], sections: &[Section]) {
        self.rewriting = Rewriting::of(changes);
        let rewrites = |section: &Section| Rewriting::of(&section.changes).is_configured;
        self.rewriting.is_configured |= !self.maps.is_empty() || sections.iter().any(rewrites);
        for change in changes {
            match change {
                Change::Variables(rule) => self.variables.push(rule.clone()),
                Change::Redirect(rule) => self.redirects.push(rule.clone()),
                Change::Lua(crate::LuaHook::RawUrl, scripts) => self.lua = Some(scripts.clone()),
                _ => {}
            }
        }
    }
}

/// The merged settings that depend on properties of a request.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Rules {
    pub require: Option<Requirement>,
    pub allow_deny: Option<AllowDeny>,
    /// `AllowMethods`. `None`: all methods.
    pub methods: Option<Vec<String>>,
    pub authentication: Authentication,
    pub lookups: NameLookups,
    pub variables: Vec<Arc<VariableRule>>,
    pub redirects: Vec<Arc<RedirectRule>>,
    /// `Redirect URL` in a section.
    pub redirect: Option<Arc<PlaceRedirect>>,
    /// `RedirectRelative`
    pub relative_redirects: bool,
    pub alias: Option<Arc<PlaceAlias>>,
    /// `AliasPreservePath`
    pub alias_keeps_path: bool,
    /// The patterns of matching sections with named groups.
    pub named_groups: Vec<NamedGroups>,
    pub headers: Vec<Arc<HeaderRule>>,
    pub request_headers: Vec<Arc<HeaderRule>>,
    pub expires: Expires,
    pub rewriting: Rewriting,
    pub conditionals: Vec<Arc<Conditional>>,
    /// Whether conditions of `<If>` have been evaluated for these settings.
    #[serde(skip)]
    pub is_conditional: bool,
    /// Whether a `<Files>`, `<Location>` or `<If>` applies. As in Apache, such settings of an index
    /// are not those of its folder, even if they are equal.
    #[serde(skip)]
    pub is_of_path: bool,
    /// Which rules of the host read the request before it is mapped.
    #[serde(skip)]
    pub of_host: PlaceRules,
    /// `SSLRequire`: all must hold.
    #[serde(skip)]
    pub tls_requirements: Vec<Arc<crate::Expression>>,
}

impl Rules {
    /// Applies one section's changes. `folder` is the folder of a `<Directory>` section or of a
    /// .htaccess file. Variables, redirects and rewriting outside of sections belong to
    /// [`HostRules`].
    pub(crate) fn apply(&mut self, changes: &[Change], folder: Option<&Path>, in_section: bool) {
        self.apply_access(changes);
        if in_section {
            self.rewriting.apply(changes, folder);
        } else {
            self.rewriting.apply_base(changes);
        }
        let mut redirects = Vec::new();
        for change in changes {
            match change {
                Change::Variables(rule) if in_section => self.variables.push(rule.clone()),
                Change::Redirect(rule) if in_section => redirects.push(rule.clone()),
                Change::PlaceRedirect(rule) => self.redirect = Some(rule.clone()),
                Change::RelativeRedirects(on) => self.relative_redirects = *on,
                Change::PlaceAlias(alias) => self.alias = Some(alias.clone()),
                Change::AliasKeepsPath(on) => self.alias_keeps_path = *on,
                Change::Header(rule) => self.headers.push(rule.clone()),
                Change::RequestHeader(rule) => self.request_headers.push(rule.clone()),
                Change::BasicFake(rule) => {
                    let is_fake = |rule: &HeaderRule| matches!(rule.value, HeaderValue::Basic(..));
                    self.request_headers.retain(|rule| !is_fake(rule));
                    self.request_headers.extend(rule.clone());
                }
                Change::ExpiresActive(on) => self.expires.active = *on,
                Change::ExpiresDefault(expiry) => self.expires.default = Some(*expiry),
                Change::ExpiresByType(media_type, expiry) => {
                    self.expires.by_type.insert(media_type.clone(), *expiry);
                }
                Change::TlsRequirement(rule) => self.tls_requirements.push(rule.clone()),
                Change::If(conditional) => self.conditionals.push(conditional.clone()),
                _ => {}
            }
        }
        // The redirects of the innermost section come first.
        self.redirects.splice(..0, redirects);
    }

    /// Applies the access rules of one section. They replace those of outer sections.
    fn apply_access(&mut self, changes: &[Change]) {
        let mut required = Vec::new();
        let mut allow_deny = None;
        let mut methods = None;
        let mut merging = None;
        for change in changes {
            match change {
                Change::AuthMerging(chosen) => merging = Some(*chosen),
                Change::Require(requirement) => required.push(requirement.clone()),
                Change::Order(methods, order) => allow_deny
                    .get_or_insert_with(AllowDeny::default)
                    .set_order(methods.clone(), *order),
                Change::Allow(methods, from) => allow_deny
                    .get_or_insert_with(AllowDeny::default)
                    .allow
                    .push((methods.clone(), from.clone())),
                Change::Deny(methods, from) => allow_deny
                    .get_or_insert_with(AllowDeny::default)
                    .deny
                    .push((methods.clone(), from.clone())),
                Change::AllowMethod(None) => (self.methods, methods) = (None, None),
                Change::AllowMethod(Some(method)) => {
                    methods.get_or_insert_with(Vec::new).push(method.clone())
                }
                Change::Satisfy(methods, any) => allow_deny
                    .get_or_insert_with(AllowDeny::default)
                    .satisfy
                    .push((methods.clone(), *any)),
                Change::Auth(word) => self.authentication.apply(word),
                Change::NameLookups(lookups) => self.lookups = *lookups,
                _ => {}
            }
        }
        let own = match required.len() {
            0 => None,
            1 => required.pop(),
            _ => Some(Requirement::Any(required)),
        };
        self.require = match (self.require.take(), own, merging) {
            // As in Apache, `AuthMerging Off` drops the outer requirements also if the section has
            // none of its own.
            (_, None, Some(None)) => None,
            (outer, None, _) => outer,
            (Some(outer), Some(own), Some(Some(Merging::And))) => {
                Some(Requirement::Every(vec![outer, own]))
            }
            (Some(outer), Some(own), Some(Some(Merging::Or))) => {
                Some(Requirement::Any(vec![outer, own]))
            }
            (_, own, _) => own,
        };
        if allow_deny.is_some() {
            self.allow_deny = allow_deny;
        }
        if methods.is_some() {
            self.methods = methods;
        }
    }

    /// Tells whether every client is refused. `None`: the result depends on the request.
    pub fn denied(&self) -> Option<bool> {
        let required = match &self.require {
            // With an `AuthType` but no `Require`, the access phase decides.
            None => self.authentication.kind.is_none().then_some(true),
            Some(requirement) => requirement.constant(),
        };
        let allowed = self
            .allow_deny
            .as_ref()
            .map_or(Some(true), AllowDeny::constant);
        let denied = |any: bool| match (required, allowed, any) {
            (Some(true), Some(true), _) | (_, Some(true), true) => Some(false),
            (Some(required), Some(false), true) => Some(!required),
            (Some(false), _, false) | (_, Some(false), false) => Some(true),
            _ => None,
        };
        let rules = self.allow_deny.as_ref();
        match rules.map_or(Some(false), AllowDeny::always_satisfies_any) {
            Some(any) => denied(any),
            None => denied(true).filter(|one| denied(false) == Some(*one)),
        }
    }

    /// Tells whether a request by this method must pass only one of `Require` and `Allow`.
    pub fn satisfies_any(&self, method: &[u8]) -> bool {
        let rules = self.allow_deny.as_ref();
        rules.is_some_and(|rules| rules.satisfies_any(method))
    }

    /// Tells whether `Satisfy Any` holds for any method.
    pub fn may_satisfy_any(&self) -> bool {
        let rules = self.allow_deny.as_ref();
        rules.is_some_and(|rules| rules.always_satisfies_any() != Some(false))
    }

    /// Tells whether the place may be asked by this method.
    pub fn allow_method(&self, method: &[u8]) -> bool {
        let method = match method {
            b"HEAD" => b"GET",
            method => method,
        };
        let known = self.methods.as_ref();
        known.is_none_or(|known| known.iter().any(|known| known.as_bytes() == method))
    }

    pub fn asks_user(&self) -> bool {
        let require = self.require.as_ref();
        require.is_some_and(|requirement| requirement.asks_user())
    }

    /// Tells which of the rules that choose the place read the request.
    pub(crate) fn place_rules(&self) -> PlaceRules {
        if self.is_conditional || !self.conditionals.is_empty() {
            return PlaceRules::Sections;
        }
        self.of_host
    }

    /// Tells whether a request must be checked before its handler runs.
    pub fn is_checked_first(&self) -> bool {
        self.denied().is_none()
            || self.methods.is_some()
            || !self.tls_requirements.is_empty()
            || self.lookups != NameLookups::Off
            || !self.variables.is_empty()
            || !self.redirects.is_empty()
            || self.redirect.is_some()
            || !self.named_groups.is_empty()
            || !self.request_headers.is_empty()
            || self.rewriting.is_on()
            || !self.conditionals.is_empty()
    }

    /// Tells whether rules of the fixup phase may change the request.
    pub fn fix_up(&self) -> bool {
        !self.redirects.is_empty()
            || self.redirect.is_some()
            || !self.request_headers.is_empty()
            || self.rewriting.is_on()
    }

    /// Tells whether a rule depends on the response, so that the response is examined before it is
    /// sent.
    pub fn examines_response(&self) -> bool {
        !self.headers.is_empty() || self.expires.active
    }
}

/// Tells whether a change of a section counts before a path is mapped.
fn is_early(change: &Change) -> bool {
    match change {
        Change::PlaceRedirect(_) | Change::PlaceAlias(_) => true,
        Change::RelativeRedirects(_) => true,
        Change::If(conditional) => conditional.changes.iter().any(is_early),
        _ => false,
    }
}
