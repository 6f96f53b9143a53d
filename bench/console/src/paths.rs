//! The console's paths: its files, the figures of the server below `api/`, and the pages of exact
//! profiles below `reports/`.
//!
//! The console only reads: no path changes the server.

use crate::assets;
use crate::inspection::{Of, VIEWS};
use crate::looks::Looks;
use crate::reports;
use crate::watched_server::WatchedServer;
use mehari_loopback::{Content, MediaType, Pages, StatusCode};
use percent_encoding::percent_decode_str;
use serde_json::{json, Value};
use std::collections::HashMap;

/// The console's files, and the server that they show.
pub struct Console {
    assets: HashMap<&'static str, Content>,
    server: WatchedServer,
    looks: Looks,
}

impl Console {
    pub fn new(server: WatchedServer) -> Console {
        Console {
            assets: assets::all(),
            server,
            looks: Looks::default(),
        }
    }
}

impl Pages for Console {
    fn get(&self, path: &str) -> Content {
        if let Some(asset) = self.assets.get(path) {
            return asset.clone();
        }
        match path {
            "api/now" => self.looks.at("now", || self.server.now()),
            "api/places" => self.looks.at("places", || self.server.list("places")),
            "api/errors" => self.looks.at("errors", || self.server.list("errors")),
            "api/history" => self.looks.at("history", || self.server.list("history")),
            "api/memory" => self.looks.at("memory", || self.server.memory()),
            "api/machine" => self.looks.at("machine", || Ok(self.server.machine())),
            "api/reports" => figures(self.reports()),
            "api/views" => figures(Ok(json!({ "views": views() }))),
            other if other.starts_with("api/inspect/") => {
                figures(self.inspect(&other["api/inspect/".len()..]))
            }
            other if other.starts_with("reports/") => self
                .report(&other["reports/".len()..])
                .unwrap_or_else(no_such_page),
            other => match other.strip_prefix("api/worker/").map(str::parse) {
                Some(Ok(pid)) => figures(self.server.worker(pid)),
                _ => no_such_page(),
            },
        }
    }
}

fn no_such_page() -> Content {
    Content::text(StatusCode::NOT_FOUND, "The console has no such page.\n")
}

impl Console {
    /// Returns the reports of exact profiles, and which of them the console can show.
    fn reports(&self) -> Result<Value, String> {
        let mut list = self.server.list("reports")?;
        reports::mark_readable(&mut list);
        Ok(list)
    }

    /// Answers `NUMBER/FILE`.
    fn report(&self, path: &str) -> Option<Content> {
        let path = percent_decode_str(path).decode_utf8().ok()?;
        reports::file(&self.server.list("reports").ok()?, &path)
    }

    /// Answers `PROCESS/VIEW` and `PROCESS/VIEW/NAME`.
    fn inspect(&self, path: &str) -> Result<Value, String> {
        let mut parts = path.splitn(3, '/');
        let (whom, view) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        let name = percent_decode_str(parts.next().unwrap_or_default());
        let name = name
            .decode_utf8()
            .map_err(|_| "expected a name in UTF-8".to_owned())?;
        self.server.inspect(whom, view, &name)
    }
}

fn views() -> Vec<Value> {
    let of = |of: Of| match of {
        Of::Nothing => json!({}),
        Of::Perhaps(what) => json!({ "what": what }),
        Of::One(what) => json!({ "what": what, "needed": true }),
    };
    let all = VIEWS.iter();
    all.map(|view| json!({ "word": view.word, "about": view.about, "of": of(view.of) }))
        .collect()
}

/// Returns figures as JSON. If the server does not answer, the page shows the reason.
fn figures(read: Result<Value, String>) -> Content {
    let (status, value) = match read {
        Ok(value) => (StatusCode::OK, value),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, json!({ "error": reason })),
    };
    Content::once(status, MediaType::Json, value.to_string())
}
