//! Perl's part of the settings: the handlers of each phase, the options, and the text that the
//! worker reads.
//!
//! The text is a list of records. A record has a kind, then a name and a value that end with NUL.
//! The kinds are: `h` a handler of a phase, `v` a variable for `dir_config`, `o` options by number,
//! `e` an error document of this server, `c` a container of custom directives or a line of a
//! container, `t` a text by name. `settings.c` in perl/xs parses the text once per
//! [`crate::Settings::id`].

use std::sync::Arc;

use crate::{perl_option, Change, Phase};

mod worker_encoding;

pub(crate) use worker_encoding::WorkerRecords;

/// Perl's part of the settings for one request.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct PerlPart {
    /// The handlers as written, in order.
    pub handlers: Vec<(Phase, Vec<String>)>,
    /// The `PerlOptions` that are switched on in the section or in an outer section, as bits. If an
    /// option is neither switched on nor off, its default depends on the handler.
    pub options_on: u8,
    pub options_off: u8,
    /// The phases in which the server runs no Perl, by `PerlOptions -Enable` or `-Authen`.
    pub disabled: Vec<Phase>,
    /// The path of the last section that matched.
    pub location: String,
    /// The uses of Perl modules' directives, from the outermost section on.
    pub custom: Vec<Container>,
    #[serde(skip)]
    pub encoded: EncodedSettings,
}

/// The lines of one section that have directives of Perl modules.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Container {
    pub number: u64,
    /// The lines of a .htaccess file, which no zygote has run.
    pub late: Vec<Arc<crate::CustomUse>>,
}

/// The text for the worker. The text is made after merging, and comparisons of settings ignore it.
#[derive(Debug, Clone, Default)]
pub struct EncodedSettings {
    /// The records. Empty: the worker needs no settings.
    pub text: Arc<[u8]>,
    /// Whether a handler runs in a phase other than the response.
    pub runs_phases: bool,
    pub left: LeftRules,
    /// Whether an output filter processes responses.
    pub filters_output: bool,
    /// Whether an input filter processes the bodies of requests.
    pub filters_input: bool,
}

/// The rules of a place that read the request after Perl handlers that may change the request.
#[derive(Debug, Clone, Copy, Default)]
pub struct LeftRules {
    /// The rules that choose the place, and after which handlers they are evaluated again.
    pub place: PlaceRules,
    /// `SetEnvIf` and its relatives, after the handlers of the header parser phase.
    pub variables: bool,
    /// `Require`, `Allow` and `Deny`, after the handlers of the access phase.
    pub access: bool,
    /// `Require`, after the handlers of the authorisation phase.
    pub authorization: Authorization,
    /// `Redirect`, `RewriteRule` and `RequestHeader`, after the handlers of the fixup phase.
    pub fixups: bool,
}

impl LeftRules {
    /// Whether access rules are evaluated after handlers.
    pub fn decides_access(&self) -> bool {
        self.access || self.authorization != Authorization::Settled
    }
}

/// Which of the rules that choose a request's place read the request. As in Apache, the rules of
/// each kind see the changes of the handlers that run before them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceRules {
    #[default]
    Settled,
    /// The server's `SetEnvIf`, after the handlers that run when the request has been read.
    Variables,
    /// The server's `RewriteRule` too, after the handlers of the translation phase.
    Translation,
    /// `<If>` too, after the handlers that map the path to a file.
    Sections,
}

impl PlaceRules {
    /// Returns the word for the worker.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            PlaceRules::Settled => None,
            PlaceRules::Variables => Some("variables"),
            PlaceRules::Translation => Some("translation"),
            PlaceRules::Sections => Some("sections"),
        }
    }
}

/// When `Require` is evaluated again after users have been authenticated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Authorization {
    /// Never: a second evaluation would have the same result.
    #[default]
    Settled,
    /// If handlers have changed the request.
    IfChanged,
    /// Always, because an expression names the user.
    ReadsUser,
}

impl PartialEq for EncodedSettings {
    fn eq(&self, _: &EncodedSettings) -> bool {
        true
    }
}

impl PerlPart {
    /// Returns the handlers of a phase, as written.
    pub fn of(&self, phase: Phase) -> &[String] {
        let found = self.handlers.iter().find(|(known, _)| *known == phase);
        match found {
            Some((_, names)) if !self.disabled.contains(&phase) => names,
            _ => &[],
        }
    }

    /// Applies the changes of one section. The section's handlers of a phase replace those of outer
    /// sections. With `MergeHandlers` they follow those of outer sections. See mod_perl's
    /// modperl_config_dir_merge.
    pub(crate) fn apply(&mut self, changes: &[Change], location: &str) {
        for change in changes {
            match change {
                Change::PerlOptions { on, off } => {
                    self.options_on = (self.options_on & !off) | on;
                    self.options_off = (self.options_off & !on) | off;
                }
                Change::PerlWithout(phase) if !self.disabled.contains(phase) => {
                    self.disabled.push(*phase)
                }
                Change::Custom(used) => self.add_custom(used),
                Change::PerlWith(phase) => self.disabled.retain(|known| known != phase),
                _ => {}
            }
        }
        let merges = self.options_on & perl_option::MERGE_HANDLERS != 0;
        let mut begun = Vec::new();
        for change in changes {
            let Change::PerlHandler(phase, names) = change else {
                continue;
            };
            let starts_anew = !begun.contains(phase) && !merges;
            begun.push(*phase);
            let place = self.place(*phase);
            if starts_anew {
                place.clear();
            }
            place.extend_from_slice(names);
        }
        // As in mod_perl, a section without a directive of mod_perl is not `$r->location`.
        if !location.is_empty() && changes.iter().any(Change::is_of_mod_perl) {
            self.location = location.to_string();
        }
    }

    fn add_custom(&mut self, used: &Arc<crate::CustomUse>) {
        let container = match self.custom.last_mut() {
            Some(last) if last.number == used.container => last,
            _ => {
                self.custom.push(Container {
                    number: used.container,
                    late: Vec::new(),
                });
                let Some(last) = self.custom.last_mut() else {
                    return;
                };
                last
            }
        };
        if used.is_late {
            container.late.push(used.clone());
        }
    }

    pub(crate) fn place(&mut self, phase: Phase) -> &mut Vec<String> {
        let at = match self
            .handlers
            .binary_search_by_key(&phase, |(known, _)| *known)
        {
            Ok(at) => at,
            Err(at) => {
                self.handlers.insert(at, (phase, Vec::new()));
                at
            }
        };
        &mut self.handlers[at].1
    }
}
