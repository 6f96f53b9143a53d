//! The answer of `mehari explain` as data: where the script is served, on which rung, and why.

use mehari_config::{Handler, Rung, Site};
use mehari_front::places_of;
use mehari_pool::{Explanation, RewoundScript};
use std::path::{Path, PathBuf};

#[derive(serde::Serialize)]
pub struct Report {
    pub file: PathBuf,
    pub places: Vec<ExplainedUrl>,
    /// What the script's template finds out. `None` on rungs without one.
    pub explanation: Option<Explanation>,
    /// Why there is no explanation although there should be.
    pub problem: Option<String>,
    /// The script in the processes of each worker.
    pub processes: Vec<RewoundScript>,
    /// The number of the first host that runs the script on `rewind` or `auto`.
    #[serde(skip)]
    host: Option<u32>,
}

/// A URL path of a host.
#[derive(serde::Serialize)]
pub struct ExplainedUrl {
    /// Empty: the main server.
    pub host: String,
    pub url_path: String,
    /// The configured handler, or why requests are refused.
    pub handler: String,
    /// The configured rung, if the handler is a script or is isolated by `PerlIsolation`.
    pub configured: Option<Rung>,
    /// What the workers call an isolated handler or application in their reports.
    #[serde(skip)]
    isolated: Option<String>,
    /// The rung that requests really get.
    pub rung: Option<Rung>,
    /// Why that is another rung than the configured one.
    pub why: Option<String>,
}

impl Report {
    /// The places of a file or of a URL path.
    pub fn of_places(site: &Site, what: &Path) -> Result<Report, String> {
        let found = places_of(site, what);
        let first = found.iter().find(|it| rewound(&it.handler).is_some());
        let Some(any) = first.or(found.first()) else {
            return Err(format!(
                "no URL path of the configuration leads to {}; expected a script's file or a URL path",
                what.display()
            ));
        };
        let host = first.map(|it| it.host);
        let file = if what.is_file() {
            what.to_owned()
        } else {
            any.file.clone()
        };
        let places = found
            .into_iter()
            .map(|it| ExplainedUrl::of(site, it))
            .collect();
        Ok(Report {
            file,
            places,
            explanation: None,
            problem: None,
            processes: Vec::new(),
            host,
        })
    }

    /// The Perl to ask, and the file to ask about. `None`: the rung has no template.
    pub fn question(&self, site: &Site) -> Option<(usize, PathBuf)> {
        let host = self.host?;
        Some((site.host(host).perl, self.file.clone()))
    }

    pub fn learn(&mut self, told: Result<Explanation, String>) {
        match told {
            Ok(explanation) => self.explanation = Some(explanation),
            Err(problem) => self.problem = Some(problem),
        }
        self.judge();
    }

    /// What the workers have reported. It outweighs what a look says.
    pub fn see(&mut self, scripts: Vec<RewoundScript>) {
        let file = self.file.to_string_lossy();
        let mut scripts = scripts;
        let is_isolated = |name: &str| {
            let mut isolated = self.places.iter().filter_map(|it| it.isolated.as_deref());
            isolated.any(|isolated| isolated == name)
        };
        scripts.retain(|script| script.script == file || is_isolated(&script.script));
        self.processes = scripts;
        self.judge();
    }

    fn judge(&mut self) {
        let seen = self
            .processes
            .iter()
            .find(|it| it.rung == Rung::Fork.name());
        let refusal = self.explanation.as_ref().and_then(|it| it.refusal.clone());
        let why = seen.map(|it| it.why.clone()).or(refusal);
        for place in &mut self.places {
            if let Some(Rung::Rewind | Rung::Auto) = place.configured {
                place.rung = Some(why.as_ref().map_or(Rung::Rewind, |_| Rung::Fork));
                place.why.clone_from(&why);
            }
        }
    }
}

/// The rung of a script that its server may rewind.
fn rewound(handler: &Result<Handler, String>) -> Option<Rung> {
    match handler {
        Ok(Handler::Script(rung @ (Rung::Rewind | Rung::Auto))) => Some(*rung),
        _ => None,
    }
}

impl ExplainedUrl {
    fn of(site: &Site, place: mehari_front::ServedUrl) -> ExplainedUrl {
        let isolated = match &place.handler {
            Ok(Handler::Psgi(app)) if place.isolated => Some(app.to_string_lossy().into_owned()),
            Ok(Handler::Perl { name, .. }) if place.isolated => Some(name.clone()),
            _ => None,
        };
        let configured = match &place.handler {
            Ok(Handler::Script(rung)) => Some(*rung),
            _ => isolated.as_ref().map(|_| Rung::Rewind),
        };
        let host = match place.host {
            0 => String::new(),
            number => {
                let host = site.host(number);
                let address = || host.addresses.first().map(ToString::to_string);
                let name = host.names.server_name.clone();
                name.or_else(address).unwrap_or_else(|| number.to_string())
            }
        };
        ExplainedUrl {
            host,
            url_path: place.url_path,
            handler: match &place.handler {
                Ok(handler) if isolated.is_some() => {
                    format!("{handler} on the rung `rewind` by PerlIsolation")
                }
                Ok(handler) => handler.to_string(),
                Err(reason) => format!("refused: {reason}"),
            },
            configured,
            isolated,
            rung: configured,
            why: None,
        }
    }
}
