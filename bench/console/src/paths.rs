//! The console's paths: its files, and the figures of the server below `api/`.
//!
//! The console only reads: no path changes the server.

use crate::assets;
use crate::watched_server::WatchedServer;
use mehari_loopback::{Content, MediaType, Pages, StatusCode};
use serde_json::{json, Value};
use std::collections::HashMap;

/// The console's files, and the server that they show.
pub struct Console {
    assets: HashMap<&'static str, Content>,
    server: WatchedServer,
}

impl Console {
    pub fn new(server: WatchedServer) -> Console {
        Console {
            assets: assets::all(),
            server,
        }
    }
}

impl Pages for Console {
    fn get(&self, path: &str) -> Content {
        if let Some(asset) = self.assets.get(path) {
            return asset.clone();
        }
        match path {
            "api/now" => figures(self.server.now()),
            "api/places" => figures(self.server.list("places")),
            "api/errors" => figures(self.server.list("errors")),
            "api/history" => figures(self.server.list("history")),
            "api/memory" => figures(self.server.memory()),
            "api/machine" => figures(Ok(self.server.machine())),
            other => match other.strip_prefix("api/worker/").map(str::parse) {
                Some(Ok(pid)) => figures(self.server.worker(pid)),
                _ => Content::text(StatusCode::NOT_FOUND, "The console has no such page.\n"),
            },
        }
    }
}

/// Returns figures as JSON. If the server does not answer, the page shows the reason.
fn figures(read: Result<Value, String>) -> Content {
    let (status, value) = match read {
        Ok(value) => (StatusCode::OK, value),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, json!({ "error": reason })),
    };
    Content::once(status, MediaType::Json, value.to_string())
}
