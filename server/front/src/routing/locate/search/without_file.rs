//! Finds the routes of handlers that need no file: mounted applications and back ends.

use super::{Search, NOT_FOUND};
use crate::routing::mapping::Mapping;
use crate::routing::{program, proxied, walk, Route, RouteOutcome};
use mehari_config::{Handler, PassFrom, Proxied, Settings, Speech};
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use std::sync::Arc;

impl Search<'_> {
    /// Returns the route of a handler that needs no file. SCRIPT_NAME is the location, or the
    /// existing part of the path.
    pub(super) fn mounted(
        &self,
        settings: Arc<Settings>,
        handler: Handler,
        path: Path,
        mapped: Vec<u8>,
    ) -> Route {
        let (file, script, mut whole) = match &handler {
            Handler::Psgi(_) => {
                let location = program::mount(self.host, &path.merged);
                let length = location.trim_end_matches('/').len();
                (mapped, path.sent_length(length), path.bytes)
            }
            _ => {
                let walked = walk::walk(&mapped, |file| self.look(file)).path;
                let script = walk::script_length(&path.merged, &mapped[walked.len()..]);
                (walked, script, path.merged)
            }
        };
        let path_info = whole.split_off(script);
        Route {
            host: self.host.number,
            settings,
            handler,
            file,
            script_name: whole,
            path_info,
            outcome: RouteOutcome::Program,
            intermediate_settings: Vec::new(),
            is_looked_up: false,
            led_to: None,
            action: None,
            index_of: None,
            file_mark: None,
        }
    }

    pub(super) fn proxied(
        &self,
        settings: Arc<Settings>,
        proxied: Arc<Proxied>,
        path: Path,
        mapped: Vec<u8>,
    ) -> Result<Route, Problem> {
        let is_as_sent = self.indexes == 0 && self.back_end.is_none();
        let raw = is_as_sent.then_some(self.raw);
        let mapping = Mapping::to(mapped);
        let known = settings.clone();
        let route = proxied::route(
            self.site,
            self.host.number,
            settings,
            proxied,
            &path,
            raw,
            mapping,
        );
        Ok(route.unwrap_or_else(|| self.refused(known, NOT_FOUND)))
    }

    /// Finds the route of a path without a file. If a section sets a back end, the back end
    /// responds.
    pub(super) fn without_file(
        &mut self,
        settings: Arc<Settings>,
        path: Path,
        mapped: Vec<u8>,
        alias_script: bool,
    ) -> Result<Route, Problem> {
        let Some(Handler::Proxy(proxied)) = &settings.handlers.set else {
            return self.missing(settings, path, &mapped, alias_script);
        };
        let location = program::mount(self.host, &path.merged);
        let speech = self
            .site
            .upstream(&proxied.upstream)
            .map(|one| one.speech());
        if speech == Some(Speech::FastCgi) && location.is_empty() {
            return self.missing(settings, path, &mapped, alias_script);
        }
        let mut proxied = Proxied::clone(proxied);
        proxied.from = PassFrom::Prefix(location.to_string());
        self.proxied(settings, Arc::new(proxied), path, mapped)
    }
}
