//! Holds the front's logs: the access log and the error log of each host.

use mehari_config::{AccessLogSettings, Host, LogLevel, LogTarget, Site};
use mehari_front::{AccessEntry, Journal, Origin};
use mehari_observe::{AccessLog, ErrorLog};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

pub struct Logs {
    access: RefCell<Vec<Access>>,
    pub error: ErrorLog,
    error_target: LogTarget,
    /// The logs of virtual hosts: `hosts[N - 1]` belongs to host N.
    hosts: RefCell<Vec<HostLogs>>,
}

/// The logs of a virtual host. If a field is empty or `None`, the host uses the logs of the main
/// server.
#[derive(Default)]
struct HostLogs {
    access: Vec<Access>,
    error: Option<Errors>,
}

type Access = Rc<Shared<AccessLogSettings, AccessLog>>;
type Errors = Rc<Shared<(LogTarget, LogLevel), ErrorLog>>;

/// A log that several hosts may share.
struct Shared<K, L> {
    of: K,
    log: L,
}

impl Logs {
    pub fn open(site: &Site) -> io::Result<Logs> {
        let error = ErrorLog::open(&site.logs.error, site.logs.level)?;
        let logs = Logs {
            access: RefCell::default(),
            error,
            error_target: site.logs.error.clone(),
            hosts: RefCell::default(),
        };
        logs.follow(site)?;
        Ok(logs)
    }

    /// Opens the access logs of the site and the logs of its virtual hosts. A log that is already
    /// open stays open if the site still uses it.
    pub fn follow(&self, site: &Site) -> io::Result<()> {
        let before = self.hosts.borrow();
        let open: Vec<Access> = self.access.borrow().clone();
        let main = self.access_of(&site.logs.access, open.iter())?;
        let mut hosts: Vec<HostLogs> = Vec::with_capacity(site.hosts.len());
        for host in &site.hosts {
            let known = || before.iter().chain(&hosts);
            let open = main.iter().chain(&open);
            let open = open.chain(known().flat_map(|logs| &logs.access));
            let access = self.access_of(&host.own_logs.access, open)?;
            let error = self.error_of(host, site, known())?;
            hosts.push(HostLogs { access, error });
        }
        drop(before);
        let own = |logs: &HostLogs| Some(logs.error.as_ref()?.log.clone());
        self.error.replace_hosts(hosts.iter().map(own).collect());
        self.access.replace(main);
        self.hosts.replace(hosts);
        Ok(())
    }

    fn access_of<'h>(
        &self,
        wanted: &[AccessLogSettings],
        open: impl Iterator<Item = &'h Access> + Clone,
    ) -> io::Result<Vec<Access>> {
        let wanted = wanted.iter().filter(|of| of.target != LogTarget::Off);
        let each = wanted.map(|of| {
            // All hosts with the same target and format share one writer.
            if let Some(same) = open.clone().find(|open| open.of == *of) {
                return Ok(same.clone());
            }
            let log = AccessLog::open(of, &self.error)?;
            Ok(Rc::new(Shared {
                of: of.clone(),
                log,
            }))
        });
        each.collect()
    }

    fn error_of<'h>(
        &self,
        host: &Host,
        site: &Site,
        known: impl Iterator<Item = &'h HostLogs>,
    ) -> io::Result<Option<Errors>> {
        let own = &host.own_logs;
        if own.error.is_none() && own.level.is_none() {
            return Ok(None);
        }
        let target = own.error.as_ref().unwrap_or(&site.logs.error);
        let of = (target.clone(), own.level.unwrap_or(site.logs.level));
        let mut known = known.filter_map(|logs| logs.error.as_ref());
        if let Some(open) = known.find(|open| open.of == of) {
            return Ok(Some(open.clone()));
        }
        let log = ErrorLog::open(&of.0, of.1)?;
        Ok(Some(Rc::new(Shared { of, log })))
    }

    /// Opens the files again. `opened`: the files that only root may open.
    pub fn reopen(&self, opened: &BTreeMap<PathBuf, File>) {
        let file = |target: &LogTarget| match target {
            LogTarget::File(path) => opened.get(path)?.try_clone().ok(),
            _ => None,
        };
        self.error.reopen(file(&self.error_target));
        self.each(
            |access| access.log.reopen(file(&access.of.target)),
            |error| error.log.reopen(file(&error.of.0)),
        );
    }

    pub fn flush(&self) {
        let limit = Duration::from_secs(2);
        self.error.flush(limit);
        self.each(
            |access| {
                access.log.flush(limit);
            },
            |error| {
                error.log.flush(limit);
            },
        );
    }

    fn each(&self, access: impl Fn(&Access), error: impl Fn(&Errors)) {
        self.access.borrow().iter().for_each(&access);
        for logs in &*self.hosts.borrow() {
            logs.access.iter().for_each(&access);
            logs.error.iter().for_each(&error);
        }
    }
}

impl Journal for Logs {
    fn access(&self, host: u32, entry: &AccessEntry<'_>) {
        let hosts = self.hosts.borrow();
        let own = own(&hosts, host).map(|logs| &logs.access);
        match own.filter(|own| !own.is_empty()) {
            Some(own) => own.iter().for_each(|shared| shared.log.record(entry)),
            None => {
                let main = self.access.borrow();
                main.iter().for_each(|shared| shared.log.record(entry));
            }
        }
    }

    fn error(&self, host: u32, level: LogLevel, request: Origin, text: &str) {
        self.error.log(level, Origin { host, ..request }, text);
    }

    fn said_of(&self, request: u64) -> Vec<String> {
        self.error.groups().of_request(request)
    }
}

fn own(hosts: &[HostLogs], number: u32) -> Option<&HostLogs> {
    hosts.get((number as usize).checked_sub(1)?)
}
