//! Applies the rules of `<Location>` sections that count before the path is mapped, as Apache's
//! mod_alias does: `Redirect` and `Alias` with one argument, and the variables of named groups.

use crate::pipeline::rules::{Decision, Evaluation};
use crate::request::rule_state::{AliasedFile, Destination, RuleState};
use crate::request::variables::ExpressionVariables;
use mehari_config::{PlaceAlias, RequestPlace, Settings};
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use std::sync::Arc;

const HIDDEN: Problem = Problem::refused(404, "an alias that leads to a hidden file");

impl Evaluation<'_> {
    /// Applies the rules of the path's sections, and notes the file of an alias. Returns the
    /// decision of a redirect.
    pub(super) fn begin_at_place(
        &self,
        path: &Path,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Option<Decision>, Problem> {
        if !self.host.rules.begin_at_places {
            return Ok(None);
        }
        let settings = self.host.settings(&path.merged, None);
        self.set_groups(&settings, path, None, rule_state);
        let state = rule_state.as_deref();
        let maps = &self.shared.lookups.maps;
        let mut variables = ExpressionVariables::new(self.request, self.host, state, maps);
        variables.path = Some(&path.merged);
        let settings = if settings.rules.conditionals.is_empty() {
            settings
        } else {
            self.host.settings_if(&settings, &variables)
        };
        let decision = self.redirect_place(&settings, &variables);
        let aliased = match &settings.rules.alias {
            Some(alias) => Some(self.aliased(alias, &settings, path, &variables)?),
            None => None,
        };
        let varying = variables.varying.into_inner();
        RuleState::note_varying(rule_state, varying);
        if aliased.is_some() {
            let state = rule_state.get_or_insert_with(Default::default);
            state.mapping.aliased = aliased;
        }
        Ok(decision)
    }

    /// Returns the settings of the path's sections for a redirect of the server. `otherwise`: the
    /// settings if no section applies this early.
    pub(super) fn early_settings(&self, path: &Path, otherwise: Arc<Settings>) -> Arc<Settings> {
        if self.host.rules.begin_at_places {
            self.host.settings(&path.merged, None)
        } else {
            otherwise
        }
    }

    /// Maps a path of a worker's question by the alias of its section.
    pub(in crate::pipeline) fn map_at_place(
        &self,
        path: &Path,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<bool, Problem> {
        self.begin_at_place(path, rule_state)?;
        Ok(take_alias(rule_state))
    }

    /// Returns the decision of a section's `Redirect` with one argument.
    pub(in crate::pipeline) fn redirect_place(
        &self,
        settings: &Arc<Settings>,
        variables: &ExpressionVariables<'_>,
    ) -> Option<Decision> {
        let rule = settings.rules.redirect.as_ref()?;
        Some(match &rule.to {
            None => Decision::Status(Some(settings.clone()), rule.status),
            Some(to) => {
                let target = super::redirects::escaped(&to.of(variables));
                self.redirected_to(settings, rule.status, target)
            }
        })
    }

    /// Returns the file of an alias. The request's values may neither climb out of a folder nor
    /// name a hidden file.
    fn aliased(
        &self,
        alias: &PlaceAlias,
        settings: &Settings,
        path: &Path,
        variables: &ExpressionVariables<'_>,
    ) -> Result<AliasedFile, Problem> {
        let mut file = alias.file.of(variables);
        let is_hidden = |part: &[u8]| part.starts_with(b".") && !alias.file.has_segment(part);
        if file.split(|byte| *byte == b'/').any(is_hidden) {
            return Err(HIDDEN);
        }
        if !file.starts_with(b"/") {
            let root = self.site.server_root.as_os_str().as_encoded_bytes();
            file = [root, b"/", &file].concat();
        }
        if settings.rules.alias_keeps_path {
            file.extend_from_slice(alias.rest(&path.merged).unwrap_or_default());
        }
        file.dedup_by(|next, before| *next == b'/' && *before == b'/');
        Ok(AliasedFile {
            file,
            is_program: alias.script,
        })
    }

    /// Sets the variables of the named groups in the patterns of the path's sections.
    pub(in crate::pipeline) fn set_groups(
        &self,
        settings: &Settings,
        path: &Path,
        file: Option<&[u8]>,
        rule_state: &mut Option<Box<RuleState>>,
    ) {
        use std::os::unix::ffi::OsStrExt;
        let file = file.map(|file| std::path::Path::new(std::ffi::OsStr::from_bytes(file)));
        let place = RequestPlace::of(&path.merged, file);
        for groups in &settings.rules.named_groups {
            for (name, value) in groups.variables(place) {
                let state = rule_state.get_or_insert_with(Default::default);
                state.set(name.as_bytes(), value);
            }
        }
    }
}

/// Makes the file of an alias the destination, unless the server's rules have chosen another file
/// or a back end.
pub(super) fn take_alias(rule_state: &mut Option<Box<RuleState>>) -> bool {
    let Some(mapping) = rule_state.as_mut().map(|state| &mut state.mapping) else {
        return false;
    };
    let Some(aliased) = mapping.aliased.take() else {
        return false;
    };
    mapping.destination = Some(Destination::File(aliased.file));
    mapping.is_program = aliased.is_program;
    true
}
