//! Runs the scripts before a handler. Scripts before the rules see the URL, and scripts after the
//! rules see the mapped file.

use super::visit::ScriptRequest;
use super::{content, outcome};
use crate::content::{Answer, Content};
use crate::pipeline::rules::{self, Admission, RedirectTarget};
use crate::pipeline::{ClientStream, RequestContext, RequestSource};
use crate::request::{Redirect, REDIRECTS};
use crate::routing::Route;
use mehari_config::{Host, LogLevel, Settings};
use mehari_edge::{Failure, ScriptDecision, Source, Stage, Visit};
use mehari_http::path::{merge_slashes, resolved};
use mehari_http::problem::Problem;
use outcome::ScriptRedirect;
use std::path::PathBuf;
use std::sync::Arc;

/// Applies the rules, and runs the scripts before and after the rules.
///
/// # Errors
/// The request is refused before any rule is asked.
pub async fn admit<C: ClientStream>(
    client: &C,
    context: &mut RequestContext,
) -> Result<Admission, Problem> {
    let (shared, asked) = (client.shared(), client.target());
    let within = |redirect: &Redirect| !redirect.is_by_rule();
    if !shared.lua.is_used() || context.redirect.as_ref().is_some_and(within) {
        return rules::apply(shared, context, asked, client).await;
    }
    let site = shared.site();
    let host = site.host(context.host);
    let base = shared.lua.base(host);
    let mut phase = ScriptPhase {
        client,
        host,
        restarts: 0,
    };
    loop {
        let scripts = host.rules.lua.as_deref().unwrap_or_default();
        match phase
            .ask(context, Stage::RawUrl, scripts, &base, None)
            .await
        {
            Verdict::GoOn => {}
            Verdict::Again => continue,
            Verdict::Admitted(admission) => return Ok(admission),
        }
        let mut admission = rules::apply(shared, context, asked, client).await?;
        let Admission::To(route) = &admission else {
            return Ok(admission);
        };
        let scripts = route.settings.lua.physical_path.clone();
        if scripts.is_empty() {
            return Ok(admission);
        }
        let (settings, before) = (route.settings.clone(), current_target(context));
        let route = route.clone();
        let asked_for = phase.ask(
            context,
            Stage::PhysicalPath,
            &scripts,
            &settings,
            Some(&route),
        );
        match asked_for.await {
            Verdict::GoOn => {}
            Verdict::Again => continue,
            Verdict::Admitted(admission) => return Ok(admission),
        }
        if current_target(context) != before {
            admission = rules::apply(shared, context, asked, client).await?;
        }
        return Ok(admission);
    }
}

/// Returns the request's target after rules and scripts, and the file that they have set.
fn current_target(context: &RequestContext) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let target = context
        .redirect
        .as_ref()
        .map(|redirect| redirect.target.clone());
    let mapped = context
        .rule_state
        .as_ref()
        .and_then(|state| state.mapping.file_by_script.clone());
    (target, mapped)
}

enum Verdict {
    GoOn,
    Again,
    Admitted(Admission),
}

/// The scripts of one request.
struct ScriptPhase<'a, C> {
    client: &'a C,
    host: &'a Host,
    restarts: u32,
}

impl<C: ClientStream> ScriptPhase<'_, C> {
    /// Runs one script after another until one decides.
    async fn ask(
        &mut self,
        context: &mut RequestContext,
        stage: Stage,
        scripts: &[PathBuf],
        settings: &Arc<Settings>,
        route: Option<&Route>,
    ) -> Verdict {
        for file in scripts.iter() {
            let lua = &self.client.shared().lua;
            let visit = self.visit(context, stage);
            let look = |what: &mut dyn FnMut(&dyn Source)| self.show(context, route, what);
            let (ended, mut visit) = lua
                .run(&self.client.shared().clock, file, settings, visit, look)
                .await;
            self.log_printed(context, &visit);
            let decided = match ended {
                Ok(ScriptDecision::Answer(status)) => {
                    outcome::note_request(&mut context.rule_state, &visit);
                    context.settings = Some(settings.clone());
                    let content = match visit.body.take() {
                        Some(pieces) => content::of(&self.client.shared().content.files, pieces)
                            .await
                            .map(Some),
                        None => Ok(None),
                    };
                    Some(Verdict::Admitted(
                        self.answer(context, status, &visit, content),
                    ))
                }
                Ok(ScriptDecision::Restart) => {
                    outcome::note(&mut context.rule_state, &visit);
                    Some(self.restart(context, &visit))
                }
                Ok(ScriptDecision::GoOn | ScriptDecision::Interim(_)) => {
                    outcome::note(&mut context.rule_state, &visit);
                    self.redirect(context, outcome::script_redirect(&visit, stage))
                }
                Err(failure) => {
                    self.log(context, &failure.text);
                    context.settings = Some(settings.clone());
                    Some(Verdict::Admitted(Admission::Status(failure.status)))
                }
            };
            lua.give_back(visit);
            if let Some(decided) = decided {
                return decided;
            }
        }
        Verdict::GoOn
    }

    fn visit(&self, context: &RequestContext, stage: Stage) -> Box<Visit> {
        let mut visit = self.client.shared().lua.new_visit(stage);
        visit.request_count = context.record.kept;
        visit.began = Some(context.time);
        visit
    }

    fn show(
        &self,
        context: &RequestContext,
        route: Option<&Route>,
        what: &mut dyn FnMut(&dyn Source),
    ) {
        what(&ScriptRequest {
            request: self.client.request(context),
            host: self.host,
            route,
            body: context.small_body.as_deref(),
        });
    }

    /// Changes the request's target and file as a script wants. `Some`: the request does not
    /// continue as before.
    fn redirect(&self, context: &mut RequestContext, led: ScriptRedirect) -> Option<Verdict> {
        if let Some(file) = led.file {
            let state = context.rule_state.get_or_insert_with(Default::default);
            // The rules of folders need the path in this normal form.
            let plain = resolved(&file).map(|file| merge_slashes(&file));
            state.mapping.file_by_script = Some(plain.unwrap_or(file));
        }
        let target = led.target?;
        if !target.starts_with(b"/") {
            self.log(
                context,
                "a script leads to a path that does not begin with a slash",
            );
            return Some(Verdict::Admitted(Admission::Status(500)));
        }
        let to = RedirectTarget {
            target,
            in_place: false,
            ..Default::default()
        };
        let redirect = rules::redirect_to(context.redirect.take(), to, self.client.target());
        if redirect.count > REDIRECTS {
            self.log(context, "redirected by scripts and rules too often");
            return Some(Verdict::Admitted(Admission::Status(500)));
        }
        context.redirect = Some(redirect);
        if let Some(state) = &mut context.rule_state {
            state.leave_resource();
        }
        None
    }

    fn restart(&mut self, context: &mut RequestContext, visit: &Visit) -> Verdict {
        self.restarts += 1;
        if self.restarts > REDIRECTS {
            self.log(context, "restarted by scripts too often");
            return Verdict::Admitted(Admission::Status(500));
        }
        if let Some(state) = &mut context.rule_state {
            state.mapping.file_by_script = None;
        }
        let led = ScriptRedirect {
            target: outcome::restarted(visit),
            file: None,
        };
        self.redirect(context, led).unwrap_or(Verdict::Again)
    }

    /// Returns the answer with `content`, the script's body.
    fn answer(
        &self,
        context: &mut RequestContext,
        status: u16,
        visit: &Visit,
        content: Result<Option<Content>, Failure>,
    ) -> Admission {
        match content {
            Ok(None) if status >= 400 => {
                outcome::note_response(&mut context.rule_state, visit);
                Admission::Status(status)
            }
            Ok(content) => Admission::Answer(Answer {
                status,
                lines: outcome::lines(visit),
                content: content.unwrap_or_else(Content::empty),
            }),
            Err(failure) => {
                self.log(context, &failure.text);
                Admission::Status(failure.status)
            }
        }
    }

    fn log(&self, context: &RequestContext, text: &str) {
        context.log(
            self.client.shared(),
            LogLevel::Error,
            self.client.target(),
            text,
        );
    }

    fn log_printed(&self, context: &RequestContext, visit: &Visit) {
        for line in &visit.printed {
            let text = line.escape_ascii().to_string();
            context.log(
                self.client.shared(),
                LogLevel::Notice,
                self.client.target(),
                &text,
            );
        }
    }
}
