//! Encodes settings for workers, as the records that `settings/perl.rs` describes.

use std::ops::RangeInclusive;

use super::{Authorization, EncodedSettings, LeftRules, PlaceRules};
use crate::{AllowDeny, Phase, Requirement, Settings};

impl Settings {
    /// Tells whether a Perl handler runs in a phase other than the response.
    pub fn runs_phases(&self) -> bool {
        self.perl.encoded.runs_phases
    }

    /// Returns the rules that a worker asks for after its handlers.
    pub fn left_rules(&self) -> LeftRules {
        self.perl.encoded.left
    }

    /// Tells whether a Perl handler runs before the response.
    pub fn runs_before_response(&self) -> bool {
        self.runs_phases() && self.runs_any(Phase::PostReadRequest..=Phase::Fixup)
    }

    /// Tells whether a Perl handler runs before access to the place is decided.
    pub fn runs_before_admission(&self) -> bool {
        self.runs_any(Phase::PostReadRequest..=Phase::Authz)
    }

    /// Tells whether a Perl handler of the place runs in one of its phases up to this one. Users
    /// are authenticated only where `Require` asks for them.
    pub(crate) fn runs_at_place_until(&self, phase: Phase) -> bool {
        let mut phases = Phase::ALL.into_iter().filter(|known| {
            (Phase::HeaderParser..=phase).contains(known)
                && (!matches!(known, Phase::Authen | Phase::Authz) || self.rules.asks_user())
        });
        phases.any(|phase| !self.perl.of(phase).is_empty())
    }

    fn sets_variables_for_users(&self) -> bool {
        !self.programs.perl_env.is_empty() && !self.perl.of(Phase::Authen).is_empty()
    }

    pub(crate) fn runs_any(&self, phases: RangeInclusive<Phase>) -> bool {
        let mut phases = Phase::ALL
            .into_iter()
            .filter(|phase| phases.contains(phase));
        phases.any(|phase| !self.perl.of(phase).is_empty())
    }

    /// Tells whether Perl filters process responses here, including files.
    pub fn filters_output(&self) -> bool {
        self.perl.encoded.filters_output
    }

    /// Tells whether Perl filters process responses or the bodies of requests here.
    pub fn filters(&self) -> bool {
        self.perl.encoded.filters_output || self.perl.encoded.filters_input
    }

    /// Encodes the text for the worker.
    pub(crate) fn encode_for_worker(&mut self) {
        self.perl.encoded = EncodedSettings {
            runs_phases: self.has_phases(),
            left: self.rules_after_perl(),
            filters_output: !self.perl.of(Phase::OutputFilter).is_empty(),
            filters_input: !self.perl.of(Phase::InputFilter).is_empty(),
            text: self.encode_perl(&|_, _| true).into(),
        };
    }

    fn has_phases(&self) -> bool {
        let runs = |phase: &Phase| phase.is_of_a_request() && !self.perl.of(*phase).is_empty();
        Phase::ALL.iter().any(runs)
    }

    fn rules_after_perl(&self) -> LeftRules {
        let rules = &self.rules;
        let runs_until = |last: Phase| {
            let mut phases = Phase::ALL.into_iter().filter(|phase| *phase <= last);
            phases.any(|phase| !self.perl.of(phase).is_empty())
        };
        let read = rules
            .require
            .as_ref()
            .is_some_and(Requirement::reads_request);
        let allowed = rules.allow_deny.as_ref().map(AllowDeny::constant);
        LeftRules {
            place: if runs_until(Phase::MapToStorage) {
                rules.place_rules()
            } else {
                PlaceRules::Settled
            },
            variables: !rules.variables.is_empty() && runs_until(Phase::HeaderParser),
            access: (read || allowed == Some(None) || !rules.tls_requirements.is_empty())
                && runs_until(Phase::Access),
            authorization: match &rules.require {
                Some(rule) if rule.reads_user() && self.has_phases() => Authorization::ReadsUser,
                // The handlers set the variables that the rules read.
                Some(rule) if rule.asks_user() && read && self.sets_variables_for_users() => {
                    Authorization::ReadsUser
                }
                Some(rule) if rule.asks_user() && read && runs_until(Phase::Authz) => {
                    Authorization::IfChanged
                }
                _ => Authorization::Settled,
            },
            fixups: (rules.fix_up() || self.refuses_rewriting()) && runs_until(Phase::Fixup),
        }
    }

    fn put_access(&self, text: &mut WorkerRecords) {
        let rules = &self.rules;
        let allowed = rules.allow_deny.as_ref().and_then(AllowDeny::constant);
        if allowed == Some(false) {
            text.put(b't', "allowed", "no");
        }
        let Some(requirement) = &rules.require else {
            return;
        };
        if requirement.constant() != Some(true) || rules.authentication.kind.is_some() {
            text.put(b't', "requirement", &requirement.encode_for_worker());
        }
        if !requirement.asks_user() {
            return;
        }
        text.put(b't', "require", &about_users(requirement));
        if rules.authentication.forbids_on_failure {
            text.put(b't', "forbids_on_failure", "on");
        }
        if let Some(file) = &rules.authentication.group_file {
            text.put(b't', "group_file", &file.to_string_lossy());
        }
    }

    /// The worker needs the limits if handlers may lead another request to this place.
    fn put_limits(&self, text: &mut WorkerRecords) {
        let leads =
            |phase: &Phase| *phase <= Phase::MapToStorage && !self.perl.of(*phase).is_empty();
        if !Phase::ALL.iter().any(leads) {
            return;
        }
        if self.limits.body > 0 {
            text.put(b't', "body_limit", &self.limits.body.to_string());
        }
        if !self.limits.traffic.is_empty() {
            text.put(b't', "traffic", "left");
        }
    }

    /// Removes the location if nothing else concerns Perl, because it then makes no difference.
    pub(crate) fn forget_location(&mut self) {
        let perl = &self.perl;
        let silent = perl.handlers.is_empty() && perl.options_on | perl.options_off == 0;
        if silent && self.programs.set_var.is_empty() {
            self.perl.location.clear();
        }
    }

    /// Apache2::Const's `OPT_*`.
    fn option_bits(&self) -> u32 {
        let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
        let links = self.files.links;
        bit(self.files.listed, 1)
            | bit(self.output.includes.allowed, 2)
            | bit(self.output.includes.may_exec, 32)
            | bit(links.followed, 4)
            | bit(links.of_one_owner, 64)
            | bit(self.handlers.exec_cgi, 8)
            | bit(self.files.multi_views, 128)
    }

    /// Includes the handlers for which `has` returns true.
    pub(crate) fn encode_perl(&self, has: &dyn Fn(Phase, &str) -> bool) -> Vec<u8> {
        let perl = &self.perl;
        let mut text = WorkerRecords::default();
        for phase in Phase::ALL {
            for name in perl.of(phase).iter().filter(|name| has(phase, name)) {
                text.put(b'h', phase.directive(), name);
            }
        }
        for (name, values) in &self.programs.set_var {
            for value in values {
                text.put(b'v', name, value);
            }
        }
        for container in &perl.custom {
            text.put(b'c', &container.number.to_string(), "");
            for used in &container.late {
                text.put(b'c', &container.number.to_string(), &used.text());
            }
        }
        if perl.options_on | perl.options_off != 0 {
            text.put(
                b'o',
                &perl.options_on.to_string(),
                &perl.options_off.to_string(),
            );
        }
        // Perl may authenticate users, so the text includes the requirements for them.
        if self.has_phases() {
            self.put_access(&mut text);
        }
        // An error document that is a local path may run in the same worker. Only the front
        // evaluates variables.
        for (status, document) in &self.error_documents {
            if document.starts_with('/') && !document.contains(['%', '$']) {
                text.put(b'e', &status.to_string(), document);
            }
        }
        if text.0.is_empty() {
            return text.0;
        }
        let left = self.rules_after_perl();
        for (name, is_left) in [
            ("variables", left.variables),
            ("access", left.access),
            ("fixups", left.fixups),
        ] {
            if is_left {
                text.put(b't', name, "left");
            }
        }
        if let Some(word) = left.place.word() {
            text.put(b't', "place", word);
        }
        self.put_limits(&mut text);
        // The elements in a response show the variables of its handlers.
        if !self.output.includes.are_off() {
            text.put(b't', "includes", "on");
        }
        if self.output.includes.are_inserted(b"") {
            text.put(b't', "conditions", "unheeded");
        }
        match left.authorization {
            Authorization::Settled => {}
            Authorization::IfChanged => text.put(b't', "authorization", "if changed"),
            Authorization::ReadsUser => text.put(b't', "authorization", "reads user"),
        }
        text.put(b't', "location", &perl.location);
        text.put(b't', "options", &self.option_bits().to_string());
        let said = &self.rules.authentication;
        for (name, value) in [("auth_type", &said.kind), ("auth_name", &said.realm)] {
            if let Some(value) = value {
                text.put(b't', name, value);
            }
        }
        let rules = self.rules.allow_deny.as_ref();
        if let Some(rules) = rules.filter(|rules| !rules.satisfy.is_empty()) {
            text.put(b't', "satisfy", &rules.encode_satisfy());
        }
        text.0
    }
}

/// Returns the requirements about users in `Require`, one line per alternative. The word `other`
/// means a requirement that only a Perl handler can grant.
fn about_users(requirement: &Requirement) -> String {
    match requirement {
        Requirement::ValidUser => "valid-user".to_string(),
        Requirement::User(names) => format!("user {}", names.join(" ")),
        Requirement::Group(names) => format!("group {}", names.join(" ")),
        Requirement::Any(inner) => {
            let asking = inner.iter().filter(|one| one.asks_user());
            let lines: Vec<String> = asking.map(about_users).collect();
            lines.join("\n")
        }
        _ => "other".to_string(),
    }
}

/// A text of records, as `settings/perl.rs` describes them.
#[derive(Default)]
pub(crate) struct WorkerRecords(pub Vec<u8>);

impl WorkerRecords {
    pub fn put(&mut self, kind: u8, name: &str, value: &str) {
        self.0.push(kind);
        for part in [name, value] {
            self.0.extend(part.bytes().filter(|byte| *byte != 0));
            self.0.push(0);
        }
    }
}
