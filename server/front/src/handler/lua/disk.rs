//! What scripts know of files: one `stat` a path and second, however many requests ask.

use crate::handler::file::{self, resource::Identity};
use mehari_config::Settings;
use mehari_edge::{Status, World};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a change may go unnoticed.
const LIFE: Duration = Duration::from_secs(1);
/// Beyond this the table starts again from nothing.
const PATHS: usize = 4096;

struct Known {
    found: Duration,
    status: Option<Status>,
}

#[derive(Default)]
pub struct Disk {
    now: Cell<Duration>,
    /// They say which types files have.
    settings: RefCell<Option<Arc<Settings>>>,
    known: RefCell<HashMap<PathBuf, Known>>,
}

impl Disk {
    /// Before a slice: the time, and for whom.
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

    fn look(&self, path: &Path) -> Option<Status> {
        let stat = rustix::fs::stat(path).ok()?;
        let settings = self.settings.borrow();
        let media_type = settings.as_ref().and_then(|settings| {
            let name = path.as_os_str().as_encoded_bytes();
            Some(file::media_type(name, settings)?.into_owned())
        });
        Some(Status {
            mode: stat.st_mode,
            size: stat.st_size as u64,
            modified: stat.st_mtime as i64,
            changed: stat.st_ctime as i64,
            accessed: stat.st_atime as i64,
            user: stat.st_uid,
            group: stat.st_gid,
            inode: stat.st_ino,
            etag: Identity::of(&stat).etag(),
            media_type: media_type.unwrap_or_default(),
        })
    }
}

impl World for Disk {
    fn stat(&self, path: &Path) -> Option<Status> {
        let now = self.now.get();
        let mut known = self.known.borrow_mut();
        if let Some(known) = known.get(path) {
            if now < known.found + LIFE {
                return known.status.clone();
            }
        }
        let status = self.look(path);
        if known.len() >= PATHS {
            known.clear();
        }
        let entry = Known {
            found: now,
            status: status.clone(),
        };
        known.insert(path.to_path_buf(), entry);
        status
    }
}
