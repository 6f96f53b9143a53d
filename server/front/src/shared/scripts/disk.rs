//! Gives scripts information about files. A result is kept for a second at most, and is dropped
//! earlier if a watched file changes. While nothing changes, a path is checked once per second,
//! however many requests ask.

use crate::content::resource::Identity;
use crate::content::{media, Files};
use mehari_config::Settings;
use mehari_edge::{Status, World};
use mehari_filewatch::{CacheValidity, DependencyRecorder, FileWatcher};
use rustix::fs::{FileType, Stat};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_local;

/// How long a change without an event may go unnoticed.
const LIFE: Duration = Duration::from_secs(1);
/// The most kept paths. A larger table is cleared.
const PATHS: usize = 4096;

struct CheckedFile {
    found: Duration,
    status: Option<Status>,
    /// `None`: the file is not watched.
    validity: Option<Rc<CacheValidity>>,
}

pub struct Disk {
    now: Cell<Duration>,
    /// The settings with the media types of files.
    settings: RefCell<Option<Arc<Settings>>>,
    known: RefCell<HashMap<PathBuf, CheckedFile>>,
    watcher: Rc<FileWatcher>,
    files: Files,
    /// Whether a thread is preparing the watch on a folder.
    scouting: Rc<Cell<bool>>,
}

impl Disk {
    pub fn new(watcher: &Rc<FileWatcher>, files: &Files) -> Disk {
        Disk {
            now: Cell::default(),
            settings: RefCell::default(),
            known: RefCell::default(),
            watcher: watcher.clone(),
            files: files.clone(),
            scouting: Rc::default(),
        }
    }

    /// Notes the time and the settings for the next slice of a script.
    pub fn look_for(&self, now: Duration, settings: &Arc<Settings>) {
        self.now.set(now);
        let mut known = self.settings.borrow_mut();
        if !known
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, settings))
        {
            *known = Some(settings.clone());
        }
    }

    fn look(&self, path: &Path) -> CheckedFile {
        let asked = path.as_os_str().as_encoded_bytes();
        let folder = asked.strip_suffix(b"/").filter(|name| !name.is_empty());
        let name = folder.unwrap_or(asked);
        let (stat, validity) = if name.starts_with(b"/") && self.is_warmed(name) {
            let recorder = DependencyRecorder::new(&self.watcher);
            (recorder.stat(name), recorder.validity())
        } else {
            (rustix::fs::stat(path).ok(), None)
        };
        let is_meant = |stat: &Stat| folder.is_none() || is_folder(stat);
        let settings = self.settings.borrow();
        let told = |stat: Stat| status(name, &stat, settings.as_deref());
        CheckedFile {
            found: self.now.get(),
            status: stat.filter(is_meant).map(told),
            validity,
        }
    }

    /// Whether the folder of a path can be watched without waiting. If not, starts a thread that
    /// prepares the watch.
    fn is_warmed(&self, path: &[u8]) -> bool {
        if !self.watcher.is_new(path) {
            return true;
        }
        if !self.scouting.replace(true) {
            let (watcher, files) = (self.watcher.clone(), self.files.clone());
            let (path, scouting) = (path.to_vec(), self.scouting.clone());
            spawn_local(async move {
                let warmer = watcher.warmer.clone();
                files.readers.warm(warmer, path.clone()).await;
                watcher.note_warmed(&path);
                scouting.set(false);
            });
        }
        false
    }

    fn holds(&self, known: &CheckedFile) -> bool {
        let validity = known.validity.as_ref();
        self.now.get() < known.found + LIFE && validity.is_none_or(|validity| validity.holds())
    }
}

impl World for Disk {
    fn stat(&self, path: &Path) -> Option<Status> {
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return None;
        }
        if let Some(known) = self.known.borrow().get(path) {
            if self.holds(known) {
                return known.status.clone();
            }
        }
        let found = self.look(path);
        let status = found.status.clone();
        let mut known = self.known.borrow_mut();
        if known.len() >= PATHS {
            known.clear();
        }
        known.insert(path.to_path_buf(), found);
        status
    }
}

/// The world of a script on another thread. Nothing is kept: each question asks the disk.
#[derive(Default)]
pub struct PlainDisk {
    settings: RefCell<Option<Arc<Settings>>>,
}

impl PlainDisk {
    /// Notes the settings for the next script.
    pub fn look_for(&self, settings: Arc<Settings>) {
        self.settings.replace(Some(settings));
    }
}

impl World for PlainDisk {
    fn stat(&self, path: &Path) -> Option<Status> {
        let asked = path.as_os_str().as_encoded_bytes();
        let stat = rustix::fs::stat(path).ok()?;
        let folder = asked.strip_suffix(b"/").filter(|name| !name.is_empty());
        if folder.is_some() && !is_folder(&stat) {
            return None;
        }
        let settings = self.settings.borrow();
        Some(status(folder.unwrap_or(asked), &stat, settings.as_deref()))
    }
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn status(name: &[u8], stat: &Stat, settings: Option<&Settings>) -> Status {
    let media_type = settings.and_then(|settings| media::media_type(name, settings));
    let parts = settings.map_or(0, |settings| settings.files.etag_parts());
    Status {
        mode: stat.st_mode,
        size: stat.st_size as u64,
        modified: stat.st_mtime as i64,
        changed: stat.st_ctime as i64,
        accessed: stat.st_atime as i64,
        user: stat.st_uid,
        group: stat.st_gid,
        inode: stat.st_ino,
        etag: Identity::of(stat).etag(parts),
        media_type: media_type.map(|name| name.into_owned()).unwrap_or_default(),
    }
}
