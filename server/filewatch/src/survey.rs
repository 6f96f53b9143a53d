//! What one search looks at, noted as it looks: the footing of the route it finds.

use super::way::{c_path, End, Way, FILE, LINKS};
use super::{Footing, Ground};
use rustix::fs::{FileType, Stat};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A name in the folder of this watch; without a name the folder, or file, itself.
type Place = (i32, Option<Box<[u8]>>);

pub struct Survey<'g> {
    ground: &'g Ground,
    places: RefCell<Vec<Place>>,
    ways: RefCell<Vec<Rc<Footing>>>,
    /// The way that was gone last: the next look is likely to go it again.
    last: RefCell<Option<(Vec<u8>, Rc<Way>)>>,
    /// Something was looked at that cannot be watched.
    blind: Cell<bool>,
}

impl<'g> Survey<'g> {
    pub fn new(ground: &'g Ground) -> Survey<'g> {
        ground.make_room();
        Survey {
            ground,
            places: RefCell::default(),
            ways: RefCell::default(),
            last: RefCell::default(),
            blind: Cell::new(false),
        }
    }

    /// What `stat` says of an absolute path; one that ends with a slash should be a folder. Nothing is noted in the ground yet: a path that leads nowhere must
    /// not take room there. Events that come meanwhile wait until they are heard, after the search.
    pub fn stat(&self, path: &[u8]) -> Option<Stat> {
        let mut path = path.to_vec();
        if path.ends_with(b"/") {
            path.pop();
            // The folder itself is watched, not all that goes on around it.
            if let End::Folder(_, folder) = &self.way(&path).end {
                return rustix::fs::lstat(c_path(folder).as_c_str()).ok();
            }
        }
        for _ in 0..LINKS {
            let slash = memchr::memrchr(b'/', &path)?;
            let name = &path[slash + 1..];
            if matches!(name, b"" | b"." | b"..") {
                return self.look_blindly(&path);
            }
            let way = self.way(&path[..slash]);
            let (number, folder) = match &way.end {
                End::Folder(number, folder) => (*number, folder),
                End::Missing => return None,
                End::Unwatched => return self.look_blindly(&path),
            };
            self.places.borrow_mut().push((number, Some(name.into())));
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

    fn way(&self, folder: &[u8]) -> Rc<Way> {
        if let Some((last, way)) = &*self.last.borrow() {
            if last == folder {
                return way.clone();
            }
        }
        let way = self.ground.way(folder);
        self.ways.borrow_mut().push(way.footing.clone());
        self.last.replace(Some((folder.to_vec(), way.clone())));
        way
    }

    /// What is looked at without a watch: the route will stand on nothing.
    pub fn look_blindly(&self, path: &[u8]) -> Option<Stat> {
        self.be_blind();
        rustix::fs::stat(c_path(path).as_c_str()).ok()
    }

    pub fn be_blind(&self) {
        self.blind.set(true);
    }

    /// A file with several names may be written by one that is in no watched folder.
    fn watch_other_names(&self, path: &[u8], stat: &Stat) {
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_file || stat.st_nlink < 2 {
            return;
        }
        match self.ground.watch(&c_path(path), FILE) {
            Ok(number) => self.places.borrow_mut().push((number, None)),
            Err(_) => self.be_blind(),
        }
    }

    /// `None`: what was found has to be looked at again each time.
    pub fn footing(self) -> Option<Rc<Footing>> {
        if self.blind.get() {
            return None;
        }
        let mut ways = self.ways.into_inner();
        ways.sort_by_key(Rc::as_ptr);
        ways.dedup_by(|one, other| Rc::ptr_eq(one, other));
        let footing = Rc::new(Footing {
            fallen: Cell::new(false),
            ways,
        });
        for (number, name) in self.places.into_inner() {
            self.ground.note(number, name.as_deref(), &footing);
        }
        Some(footing)
    }
}
