//! Gathers the facts that all checks read.

use super::configuration::Configuration;
use super::visits::{visit, warm_up, VisitedPage};
use super::watching::{waited, WatchedSpan};
use super::DoctorOptions;
use crate::cli::{console, control};
use mehari_config::LogTarget;
use mehari_console::WatchedServer;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub struct Examination {
    pub configuration: Configuration,
    pub control: Option<PathBuf>,
    /// How many times each figure is measured.
    pub rounds: usize,
    /// `None`: only a configuration is examined.
    pub server: Option<ExaminedServer>,
    pub pages: Vec<VisitedPage>,
}

/// A running server, and what was seen of it.
pub struct ExaminedServer {
    pub pid: u32,
    /// What `mehari status` said at the end.
    pub status: Value,
    pub span: WatchedSpan,
    pub watched: WatchedServer,
}

impl Examination {
    /// Reads the configuration, and watches the server unless `-f` names a configuration.
    ///
    /// # Errors
    /// No server answers, the configuration has problems, or a URL does not answer.
    pub fn of(options: &DoctorOptions) -> Result<Examination, String> {
        let rounds = options.rounds as usize;
        if options.conf.is_some() {
            let conf = options.conf.clone();
            return Ok(Examination {
                configuration: Configuration::read(conf, options.define.clone(), vec![], None)?,
                control: None,
                rounds,
                server: None,
                pages: Vec::new(),
            });
        }
        let status = status_of(options.control.as_deref())?;
        let configuration = configuration_of(&status["started"])?;
        let watched = console::watched(options.control.clone())?;
        let pid = pid_of(&status).ok_or("the server does not tell its process")?;
        eprintln!(
            "mehari doctor: watching the server {pid} for {:?}; Ctrl-C ends it early",
            options.duration
        );
        for url in &options.urls {
            warm_up(url, options.control.as_deref(), rounds)?;
        }
        let mut pages = Vec::new();
        let error_log = match &configuration.site.logs.error {
            LogTarget::File(file) => Some(file.clone()),
            _ => None,
        };
        let span = WatchedSpan::watch(&watched, pid, error_log.as_deref(), || {
            if options.urls.is_empty() {
                return waited(&watched, pid, options.duration);
            }
            let each = options.duration.div_f64(options.urls.len() as f64);
            for url in &options.urls {
                let page = visit(url, options.control.as_deref(), pid, rounds, each)?;
                pages.push(page);
            }
            Ok(None)
        })?;
        Ok(Examination {
            configuration,
            control: options.control.clone(),
            rounds,
            server: Some(ExaminedServer {
                pid,
                status: status_of(options.control.as_deref())?,
                span,
                watched,
            }),
            pages,
        })
    }

    /// Returns the server, or the reason for a check that needs a running server.
    pub fn running(&self) -> Result<&ExaminedServer, String> {
        let server = self.server.as_ref();
        server.ok_or_else(|| "needs a running server: leave out -f".to_owned())
    }

    /// Returns the URL or path with which a gain is best shown: the first URL of the command line,
    /// or the path with the most time.
    pub fn example(&self) -> String {
        if let Some(page) = self.pages.first() {
            return page.url.clone();
        }
        let places = self.server.iter().flat_map(|server| &server.span.places);
        let mut paths = places.map(|place| place.path.clone());
        paths
            .find(|path| path.starts_with('/'))
            .unwrap_or_else(|| "/".to_owned())
    }

    /// Returns what was examined, for the head of the report.
    pub fn subject(&self) -> String {
        let configuration = match (&self.configuration.conf, &self.configuration.path) {
            (Some(conf), _) => conf.display().to_string(),
            (None, Some(path)) => format!("{} without a configuration", path.display()),
            (None, None) => "the current folder without a configuration".to_owned(),
        };
        match &self.server {
            None => configuration,
            Some(server) => format!(
                "server {}, {configuration}; watched for {:.1} s: {} requests",
                server.pid,
                server.span.seconds,
                server.span.requests()
            ),
        }
    }
}

impl ExaminedServer {
    /// Returns the workers of the last status.
    pub fn workers(&self) -> impl Iterator<Item = &Value> {
        let workers = self.status["pool"]["workers"].as_array();
        workers.into_iter().flatten()
    }

    /// Returns a list of the status's pool, such as `learned`.
    pub fn pool_list(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.status["pool"][name].as_array().into_iter().flatten()
    }
}

fn status_of(named: Option<&Path>) -> Result<Value, String> {
    let status = control::ask(named, "status")?;
    if status["ok"] == true {
        return Ok(status);
    }
    let reason = status["message"].as_str().unwrap_or("no reason is given");
    Err(format!("the server refuses: {reason}"))
}

/// Reads the configuration of the running server. `started` is what the server says of its start.
fn configuration_of(started: &Value) -> Result<Configuration, String> {
    if !started.is_object() {
        return Err(
            "the server does not tell its configuration: it is an older program; restart it".into(),
        );
    }
    let words = |name: &str| -> Vec<String> {
        let list = started[name].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let folder = PathBuf::from(started["folder"].as_str().unwrap_or("."));
    let path = |name: &str| started[name].as_str().map(|path| folder.join(path));
    let served = path("path").unwrap_or_else(|| folder.clone());
    Configuration::read(path("conf"), words("define"), words("line"), Some(served))
}

pub fn pid_of(value: &Value) -> Option<u32> {
    value["pid"].as_u64()?.try_into().ok()
}

/// The shortest part of a time that is worth sampling.
pub const LEAST_SAMPLING: Duration = Duration::from_millis(200);
