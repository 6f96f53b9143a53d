//! Records which files one search for a route looks at. The route that the search finds depends on
//! these files.

use super::dir_watch::{c_path, DirWatch, End, FILE, LINKS};
use super::{CacheValidity, FileWatcher};
use rustix::fs::{FileType, Stat};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The number of a watch and a name in the watched folder. Without a name, the watched folder or
/// file itself.
type WatchedName = (i32, Option<Box<[u8]>>);

pub struct DependencyRecorder<'g> {
    watcher: &'g FileWatcher,
    dependents: RefCell<Vec<WatchedName>>,
    ways: RefCell<Vec<Rc<CacheValidity>>>,
    /// The path to the folder that was used last. The next file is likely to be in the same folder.
    last: RefCell<Option<(Vec<u8>, Rc<DirWatch>)>>,
    /// Whether the search has examined a file that cannot be watched.
    unwatched: Cell<bool>,
}

impl<'g> DependencyRecorder<'g> {
    pub fn new(watcher: &'g FileWatcher) -> DependencyRecorder<'g> {
        watcher.make_room();
        DependencyRecorder {
            watcher,
            dependents: RefCell::default(),
            ways: RefCell::default(),
            last: RefCell::default(),
            unwatched: Cell::new(false),
        }
    }

    /// Calls `stat` for an absolute path. A path that ends with a slash should be a folder.
    ///
    /// Only [`DependencyRecorder::validity`] stores the dependencies, so a path that leads nowhere
    /// takes no memory. Events wait in inotify's queue until the search is over.
    pub fn stat(&self, path: &[u8]) -> Option<Stat> {
        let mut path = path.to_vec();
        if path.ends_with(b"/") {
            path.pop();
            // The folder itself is watched, not the changes inside it.
            if let End::Folder(_, folder) = &self.dir_watch(&path).end {
                return rustix::fs::lstat(c_path(folder).as_c_str()).ok();
            }
        }
        for _ in 0..LINKS {
            let slash = memchr::memrchr(b'/', &path)?;
            let name = &path[slash + 1..];
            if matches!(name, b"" | b"." | b"..") {
                return self.stat_unwatched(&path);
            }
            let way = self.dir_watch(&path[..slash]);
            let (number, folder) = match &way.end {
                End::Folder(number, folder) => (*number, folder),
                End::Missing => return None,
                End::Unwatched => return self.stat_unwatched(&path),
            };
            self.dependents
                .borrow_mut()
                .push((number, Some(name.into())));
            let here = [&folder[..], b"/", name].concat();
            let stat = rustix::fs::lstat(c_path(&here).as_c_str()).ok()?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
                self.watch_other_names(&here, &stat);
                return Some(stat);
            }
            let target = rustix::fs::readlink(c_path(&here).as_c_str(), Vec::new()).ok()?;
            path = match target.as_bytes() {
                absolute @ [b'/', ..] => absolute.to_vec(),
                relative => [&folder[..], b"/", relative].concat(),
            };
        }
        None
    }

    fn dir_watch(&self, folder: &[u8]) -> Rc<DirWatch> {
        if let Some((last, way)) = &*self.last.borrow() {
            if last == folder {
                return way.clone();
            }
        }
        let way = self.watcher.dir_watch(folder);
        self.ways.borrow_mut().push(way.validity.clone());
        self.last.replace(Some((folder.to_vec(), way.clone())));
        way
    }

    /// Calls `stat` without a watch. The route is then checked for each request.
    pub fn stat_unwatched(&self, path: &[u8]) -> Option<Stat> {
        self.note_unwatched();
        rustix::fs::stat(c_path(path).as_c_str()).ok()
    }

    pub fn note_unwatched(&self) {
        self.unwatched.set(true);
    }

    /// Watches a file that has several names itself. It may be written through a name in a folder
    /// that is not watched.
    fn watch_other_names(&self, path: &[u8], stat: &Stat) {
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_file || stat.st_nlink < 2 {
            return;
        }
        match self.watcher.watch(&c_path(path), FILE) {
            Ok(number) => self.dependents.borrow_mut().push((number, None)),
            Err(_) => self.note_unwatched(),
        }
    }

    /// Returns the validity of the search's result, or `None` if one of the files cannot be
    /// watched.
    pub fn validity(self) -> Option<Rc<CacheValidity>> {
        if self.unwatched.get() {
            return None;
        }
        let mut ways = self.ways.into_inner();
        ways.sort_by_key(Rc::as_ptr);
        ways.dedup_by(|one, other| Rc::ptr_eq(one, other));
        let validity = Rc::new(CacheValidity {
            invalid: Cell::new(false),
            ways,
        });
        for (number, name) in self.dependents.into_inner() {
            self.watcher.note(number, name.as_deref(), &validity);
        }
        Some(validity)
    }
}
