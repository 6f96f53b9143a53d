//! Finds all reasons why a site cannot be served on this machine. `mehari check` always collects
//! them. `serve` collects them if a step of the start fails.

mod places;

use super::identity::Identity;
use super::launchers::start_for_check;
use mehari_config::{LogLevel, LogTarget, Problem, Site};
use mehari_front::Hosts;
use mehari_observe::ErrorLog;
use mehari_pool::{try_loading, LoadError, PerlSide};
use rustix::fs::{access, Access};
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::task::LocalSet;

/// The problems found, in the order of the checks.
#[derive(Default)]
pub struct Findings(Vec<Problem>);

impl Findings {
    /// Returns the value, or adds the error as a problem.
    pub fn keep<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|problem| self.add(problem)).ok()
    }

    /// Adds a problem. The same problem of several hosts, such as a bad certificate, is added once.
    pub fn add(&mut self, problem: String) {
        let problem = problem.into();
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }

    /// Adds problems that have a position.
    pub fn extend(&mut self, problems: &[Problem]) {
        self.0.extend_from_slice(problems);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns one line for each problem. The first line has no prefix, because the caller has
    /// already written it.
    pub fn text(&self) -> String {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        lines.join("\nmehari serve: ")
    }

    pub fn problems(self) -> Vec<Problem> {
        self.0
    }

    /// Checks the server's user, its certificates, and the files that it writes.
    pub fn look_at_machine(&mut self, site: &Site) -> Option<Identity> {
        let identity = self.keep(Identity::of(site)).flatten();
        for (_, pool) in site.pools() {
            if let Err(problem) = Identity::of_pool(pool) {
                self.extend(&[problem]);
            }
        }
        if site.listen.iter().any(|listen| site.is_secure(listen)) {
            let troubles = Hosts::problems(site);
            troubles.iter().for_each(|it| self.add(it.to_string()));
        }
        if let Err(trouble) = mehari_front::look_at_back_ends(site) {
            self.add(trouble);
        }
        self.keep(mehari_front::look_at_collector(site));
        self.look_at_files(site);
        self.0
            .iter_mut()
            .for_each(|problem| places::place(problem, site));
        identity
    }

    fn look_at_files(&mut self, site: &Site) {
        for (host, path) in site.log_files() {
            let of = host.map_or(String::new(), |name| format!(" of {name}"));
            if let Err(error) = writable(path) {
                self.add(format!(
                    "the log {}{of} cannot be written: {error}",
                    path.display()
                ));
            }
        }
        if let Some(path) = &site.process.pid_file {
            if let Err(error) = writable(path) {
                self.add(format!("PidFile {}: {error}", path.display()));
            }
        }
    }

    /// Has Perl load everything that the site needs. The process becomes the site's user before, so
    /// no Perl runs as root.
    pub fn look_at_perl(&mut self, site: &Site, identity: Option<&Identity>) {
        let built = PerlSide::ensure(&site.perl().interpreter).map_err(|error| error.to_string());
        if self.keep(built).is_none() {
            return;
        }
        match load(site, identity) {
            Ok(()) => {}
            Err(Unloaded::Perl(LoadError::Preload(problems))) => self.0.extend(problems),
            Err(Unloaded::Perl(error)) => self.add(error.to_string()),
            Err(Unloaded::Identity(reason)) => self.add(reason),
            Err(Unloaded::Pool(problem)) => self.extend(&[problem]),
        }
    }
}

/// Why Perl's part did not load.
enum Unloaded {
    Identity(String),
    Pool(Problem),
    Perl(LoadError),
}

impl<E: Into<LoadError>> From<E> for Unloaded {
    fn from(error: E) -> Unloaded {
        Unloaded::Perl(error.into())
    }
}

/// Becomes the site's user and loads everything. The launchers of the pools start before.
fn load(site: &Site, identity: Option<&Identity>) -> Result<(), Unloaded> {
    let log = ErrorLog::open(&LogTarget::Stderr, LogLevel::Warn)?;
    let runtime = mehari_pool::runtime()?;
    let loading = async {
        let launchers = start_for_check(site).await.map_err(Unloaded::Pool)?;
        if let Some(identity) = identity {
            identity.assume().map_err(Unloaded::Identity)?;
        }
        Ok(try_loading(site, &launchers, log.clone()).await?)
    };
    let outcome = LocalSet::new().block_on(&runtime, loading);
    log.flush(Duration::from_secs(2));
    outcome
}

/// Checks whether the file can be appended to or created. Does not change the file.
fn writable(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(rustix::io::Errno::ISDIR.into()),
        Ok(_) => Ok(access(path, Access::WRITE_OK)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            Ok(access(
                folder.unwrap_or(Path::new(".")),
                Access::WRITE_OK | Access::EXEC_OK,
            )?)
        }
        Err(error) => Err(error),
    }
}
