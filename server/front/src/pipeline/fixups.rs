//! Runs the fixup stage: the rules of the request's place, after access was granted. These are
//! `Redirect`, the `RewriteRule`s of a folder, the index, and `RequestHeader`.

use super::rules::{Decision, Evaluation};
use crate::filters::header_rules;
use crate::request::rule_state::{RuleState, User};
use crate::request::{hop, Fields};
use crate::routing::{Route, RouteOutcome};
use mehari_config::Settings;
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use mehari_observe::Lookup;
use mehari_pool::Named;
use std::rc::Rc;
use std::sync::Arc;

impl Evaluation<'_> {
    pub(super) fn fix_up(
        &self,
        route: Rc<Route>,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Result<Decision, Problem> {
        let settings = route.settings.clone();
        let path = Path::decode_as(self.request.path(), self.host.mapping.encoded_slashes())?;
        let redirects = &settings.rules.redirects;
        if let Some(decision) = self.redirect(redirects, &path.merged, &settings) {
            return Ok(decision);
        }
        let forced = |rule_state: &Option<Box<RuleState>>| {
            rule_state
                .as_ref()
                .map_or(0, |state| state.mapping.forced.len())
        };
        let before = forced(rule_state);
        if let Some(decision) = self.rewrite_in_folder(&route, &path, rule_state) {
            return Ok(decision);
        }
        let route = if forced(rule_state) > before {
            self.route_at_place(&route, rule_state)?
        } else {
            route
        };
        if let RouteOutcome::Indexed = route.outcome {
            return self.to_index(route, rule_state);
        }
        if let Some(decision) = self.correct_spelling(&route, &path, rule_state) {
            return Ok(decision);
        }
        self.name_tls_user(&settings, rule_state);
        self.change_fields(&route, rule_state);
        Ok(Decision::To(route))
    }

    /// Notes the user whom `SSLUserName` takes from the TLS connection. Apache does so in this
    /// phase, after `Require`.
    fn name_tls_user(&self, settings: &Arc<Settings>, rule_state: &mut Option<Box<RuleState>>) {
        let (Some(name), Some(session)) = (&settings.tls.user_name, &self.request.peer.tls) else {
            return;
        };
        if let Some(user) = session.value(name).filter(|user| !user.is_empty()) {
            let state = rule_state.get_or_insert_with(Default::default);
            let named = Named {
                name: user.as_bytes().to_vec(),
                kind: b"ClientCert".to_vec(),
            };
            state.identity.user = Some(User::named(named, settings));
        }
    }

    /// Applies `RequestHeader` to the request's fields.
    fn change_fields(&self, route: &Route, rule_state: &mut Option<Box<RuleState>>) {
        let rules = &route.settings.rules.request_headers;
        if rules.is_empty() {
            return;
        }
        let kept = hop::without_named(self.request.fields);
        let own = kept.as_deref().map_or(self.request.fields, Fields::List);
        let mut fields = own.to_owned();
        let state = rule_state.clone();
        let variables = self.variables(route, &route.settings, state.as_deref());
        header_rules::change_request(rules, &mut fields, &variables);
        rule_state.get_or_insert_with(Default::default).fields = Some(fields);
    }
}
