//! Reads .htaccess files at the first request for their folder, then keeps and watches them. Each
//! search for a route checks the folder, because a link may lead to another folder meanwhile.
//!
//! A file is read for each search if its changes may cause no event: if the system has no more
//! watches, and if the file is a link or has another name elsewhere.

use mehari_config::{Host, Htaccess, LogLevel, Overrides, Site};
use mehari_http::problem::Problem;
use mehari_observe::{Journal, Origin};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

const BROKEN: Problem = Problem::refused(500, "a .htaccess file has problems");
/// The most kept folders.
const FOLDERS: usize = 16 * 1024;
/// The most folders of a path that are searched. Deeper paths are refused elsewhere.
const DEEPEST: usize = 64;

/// The .htaccess file of a folder.
#[derive(Clone)]
enum Read {
    None,
    Right(Arc<Htaccess>),
    Broken,
}

struct HtaccessEntry {
    read: Read,
    /// The folder's device and inode number.
    identity: Option<(u64, u64)>,
    watched: bool,
}

pub struct HtaccessTable {
    journal: Rc<dyn Journal>,
    watch: Option<OwnedFd>,
    /// A duplicate of `watch`, for the task that waits for changes.
    for_task: RefCell<Option<OwnedFd>>,
    hosts: RefCell<HashMap<u32, HostFolders>>,
    /// Whether any folder could not be watched.
    misses: Cell<bool>,
    watches: RefCell<HashMap<i32, PathBuf>>,
}

#[derive(Default)]
struct HostFolders {
    /// Whether any section has `AllowOverride`.
    allows: Option<bool>,
    overrides: HashMap<PathBuf, Overrides>,
    known: HashMap<PathBuf, HtaccessEntry>,
}

impl HtaccessTable {
    pub fn new(journal: Rc<dyn Journal>) -> HtaccessTable {
        let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let again = watch.as_ref().and_then(|watch| watch.try_clone().ok());
        HtaccessTable {
            journal,
            for_task: RefCell::new(again),
            watch,
            hosts: RefCell::default(),
            misses: Cell::default(),
            watches: RefCell::default(),
        }
    }

    /// Returns the .htaccess files on the way to `file`, from the outermost folder on.
    pub fn chain(
        &self,
        site: &Site,
        host: &Host,
        file: &Path,
    ) -> Result<Vec<Arc<Htaccess>>, Problem> {
        let mut hosts = self.hosts.borrow_mut();
        let folders = hosts.entry(host.number).or_default();
        if !*folders.allows.get_or_insert_with(|| host.allows_htaccess()) {
            return Ok(Vec::new());
        }
        let mut chain = Vec::new();
        let mut folder = PathBuf::new();
        for part in file.components().take(DEEPEST) {
            folder.push(part);
            if folders.overrides.len() > FOLDERS || folders.known.len() > FOLDERS {
                *folders = HostFolders::default();
            }
            let may = match folders.overrides.get(&folder) {
                Some(may) => may,
                None => {
                    let may = host.overrides(&folder);
                    folders.overrides.entry(folder.clone()).or_insert(may)
                }
            };
            if may.is_none() {
                continue;
            }
            let may = may.clone();
            match self.look(site, host, &folder, may, &mut folders.known) {
                Read::None => {}
                Read::Right(read) => chain.push(read),
                Read::Broken => return Err(BROKEN),
            }
        }
        Ok(chain)
    }

    fn look(
        &self,
        site: &Site,
        host: &Host,
        folder: &Path,
        may: Overrides,
        known: &mut HashMap<PathBuf, HtaccessEntry>,
    ) -> Read {
        let identity = identity(folder);
        if let Some(known) = known.get(folder) {
            if known.watched && known.identity == identity {
                return known.read.clone();
            }
        }
        if identity.is_none() {
            return Read::None;
        }
        // The folder is watched before its file is read, so that no change is missed.
        let mut watched = self.watch(folder);
        let (read, has_other_places) = self.read(site, host, folder, may);
        if has_other_places {
            self.misses.set(true);
            watched = false;
        }
        let entry = HtaccessEntry {
            read: read.clone(),
            identity,
            watched,
        };
        known.insert(folder.to_path_buf(), entry);
        read
    }

    /// Reads the .htaccess file of a folder. Also returns whether the file may change without an
    /// event of the folder: it is a link, or has another name elsewhere.
    fn read(&self, site: &Site, host: &Host, folder: &Path, may: Overrides) -> (Read, bool) {
        let mut has_other_places = false;
        for name in &site.access_files {
            let file = folder.join(name);
            if let Ok(found) = std::fs::symlink_metadata(&file) {
                has_other_places |= found.is_symlink() || found.nlink() > 1;
            }
            match std::fs::metadata(&file) {
                Ok(found) if found.is_file() => {}
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    let text = format!("{}: {error}", file.display());
                    self.journal
                        .error(host.number, LogLevel::Crit, Origin::default(), &text);
                    return (Read::Broken, has_other_places);
                }
                _ => continue,
            }
            let read = match site.read_htaccess(&file, folder, may) {
                Ok(read) => Read::Right(Arc::new(read)),
                Err(found) => {
                    let more = found.problems.len().saturating_sub(1);
                    let first = found
                        .problems
                        .first()
                        .map_or(String::new(), |first| first.to_string());
                    let text = match more {
                        0 => first,
                        more => format!("{first} (and {more} more)"),
                    };
                    self.journal
                        .error(host.number, LogLevel::Error, Origin::default(), &text);
                    Read::Broken
                }
            };
            return (read, has_other_places);
        }
        (Read::None, has_other_places)
    }

    fn watch(&self, folder: &Path) -> bool {
        let Some(watch) = &self.watch else {
            self.misses.set(true);
            return false;
        };
        let flags = WatchFlags::CREATE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        match inotify::add_watch(watch, folder, flags) {
            Ok(number) => {
                self.watches
                    .borrow_mut()
                    .insert(number, folder.to_path_buf());
                true
            }
            Err(_) => {
                self.misses.set(true);
                false
            }
        }
    }

    /// Whether every change of a .htaccess file is reported.
    pub fn watches_all(&self) -> bool {
        !self.misses.get()
    }

    /// Forgets the .htaccess files that have changed. Returns true if there were such files. Makes
    /// no system call while no folder is watched.
    pub fn forget_changed(&self, names: &[String]) -> bool {
        let Some(watch) = &self.watch else {
            return false;
        };
        if self.watches.borrow().is_empty() {
            return false;
        }
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        let mut reader = inotify::Reader::new(watch, &mut buffer);
        let mut changed = Vec::new();
        while let Ok(event) = reader.next() {
            use inotify::ReadFlags;
            let gone = event.events().intersects(
                ReadFlags::DELETE_SELF
                    | ReadFlags::MOVE_SELF
                    | ReadFlags::QUEUE_OVERFLOW
                    | ReadFlags::IGNORED,
            );
            let name = event.file_name().map(|name| name.to_bytes());
            let is_ours =
                name.is_some_and(|name| names.iter().any(|known| known.as_bytes() == name));
            if gone || is_ours {
                changed.push((event.wd(), gone));
            }
        }
        let mut forgot = false;
        for (number, gone) in changed {
            let folder = self.watches.borrow().get(&number).cloned();
            if gone {
                self.watches.borrow_mut().remove(&number);
            }
            // An unknown folder means that events were lost, so all files are forgotten.
            forgot |= self.forget(folder.as_deref().unwrap_or(Path::new("/")));
        }
        forgot
    }

    fn forget(&self, below: &Path) -> bool {
        let mut forgot = false;
        for folders in self.hosts.borrow_mut().values_mut() {
            let before = folders.known.len();
            folders.known.retain(|folder, _| !folder.starts_with(below));
            forgot |= folders.known.len() != before;
        }
        forgot
    }

    /// Returns the descriptor on which a task waits for changes.
    pub fn descriptor(&self) -> Option<OwnedFd> {
        self.for_task.take()
    }

    /// Forgets everything, because the site was read again.
    pub fn clear(&self) {
        self.hosts.borrow_mut().clear();
    }
}

fn identity(folder: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::stat(folder).ok()?;
    let kind = rustix::fs::FileType::from_raw_mode(found.st_mode);
    (kind == rustix::fs::FileType::Directory).then_some((found.st_dev, found.st_ino))
}
