//! Runs FastCGI scripts (`SetHandler fcgid-script`). Each file is a program.
//!
//! The first request starts the script. A change of the file or the configuration restarts the
//! script. The script ends after a time without requests. After a failed start the next request
//! tries again. A changed script starts at once, and the old processes finish their requests.

use crate::group::Group;
use crate::member::Member;
use crate::program::{Fleet, Restart};
use crate::report::Report;
use mehari_config::{BackEndAddress, Upstream};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// How long a script runs without requests. The value is mod_fcgid's default of FcgidIdleTimeout.
const IDLE: Duration = Duration::from_secs(300);

/// The running scripts, and their settings.
#[derive(Default)]
pub struct Scripts {
    settings: RefCell<Option<Upstream>>,
    running: RefCell<HashMap<PathBuf, Running>>,
    /// The replaced scripts that still serve requests.
    retired: RefCell<Vec<Running>>,
}

struct Running {
    group: Rc<Group>,
    fleet: Fleet,
    /// The modification time that the file had when the script was started.
    written: SystemTime,
    used: Cell<Instant>,
}

impl Running {
    fn start(
        file: &Path,
        settings: &Upstream,
        written: SystemTime,
        report: &Report,
    ) -> io::Result<Running> {
        let mut settings = settings.clone();
        settings.name = format!("fcgid://{}", file.display());
        let Some(program) = settings.program.as_mut() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        program.file = file.to_path_buf();
        program.folder = file.parent().map(Path::to_path_buf);
        let answering: Rc<RefCell<Weak<Group>>> = Rc::default();
        let group = answering.clone();
        let works = move |since| {
            let group = group.borrow().upgrade();
            group.is_some_and(|group| group.answered.get() >= Some(since))
        };
        let restart = Restart::WhileItWorks(Rc::new(works));
        let fleet = Fleet::start(program, report, restart, None)?;
        for back_end in &mut settings.members {
            back_end.address = BackEndAddress::Unix(fleet.socket.clone());
        }
        let members = settings
            .members
            .iter()
            .cloned()
            .map(Member::new)
            .map(Rc::new);
        let members = members.collect();
        let group = Rc::new(Group::new(settings, members, report.clone()));
        answering.replace(Rc::downgrade(&group));
        Ok(Running {
            group,
            fleet,
            written,
            used: Cell::new(Instant::now()),
        })
    }

    fn is_busy(&self) -> bool {
        let members = self.group.members.borrow();
        self.group.queue.length() > 0
            || members
                .iter()
                .any(|member| member.active_requests.get() > 0)
    }
}

impl Scripts {
    /// Sets how scripts run from now on. `None` means that there are no scripts.
    pub fn reconfigure(&self, settings: Option<&Upstream>) {
        if self.settings.borrow().as_ref() == settings {
            return;
        }
        self.settings.replace(settings.cloned());
        let all = self.running.take().into_values();
        self.retired.borrow_mut().extend(all);
    }

    /// Returns the group of this script's processes. Starts the processes if necessary.
    pub fn group(&self, file: &Path, report: &Report) -> io::Result<Rc<Group>> {
        let written = std::fs::metadata(file)?.modified()?;
        let mut running = self.running.borrow_mut();
        if let Some(known) = running.get(file) {
            if known.written == written && !known.fleet.is_over() {
                known.used.set(Instant::now());
                return Ok(known.group.clone());
            }
        }
        let settings = self.settings.borrow();
        let settings = settings.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let fresh = Running::start(file, settings, written, report)?;
        let group = fresh.group.clone();
        if let Some(old) = running.insert(file.to_path_buf(), fresh) {
            self.retired.borrow_mut().push(old);
        }
        Ok(group)
    }

    /// Ends processes that are no longer needed.
    pub fn sweep(&self, now: Instant) {
        self.retired.borrow_mut().retain(Running::is_busy);
        let mut running = self.running.borrow_mut();
        running.retain(|_, one| one.is_busy() || now - one.used.get() < IDLE);
        for one in running.values() {
            let members = one.group.members.borrow();
            members.iter().for_each(|member| member.sweep(now));
        }
    }
}
