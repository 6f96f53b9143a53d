//! Watches every part of the path to a folder. Links are followed as the system follows them.

use super::{CacheValidity, FileWatcher};
use rustix::fs::inotify::WatchFlags;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::CString;
use std::rc::Rc;

/// The largest number of links on one path, as in path_resolution(7).
pub const LINKS: usize = 40;

/// The events of a folder on the path, without the events of its children. With the latter the
/// system would mark every name of the folder that it remembers, which may be tens of thousands in
/// `/tmp`. A change of the folder's permissions causes none of these events. The front finds it at
/// its regular check of the file.
const ITSELF: WatchFlags = WatchFlags::DELETE_SELF
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);
/// The events that change what a name refers to.
const NAMES: WatchFlags = ITSELF
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO);
/// The events of NAMES, and changes of contents and permissions.
const FILES: WatchFlags = NAMES
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE);
/// The events of a file that has other names, because it may be written through these names.
pub const FILE: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::DONT_FOLLOW);

pub struct DirWatch {
    pub validity: Rc<CacheValidity>,
    pub end: End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// A watched folder: the number of its watch, and its path without links.
    Folder(i32, Vec<u8>),
    /// There is no such folder.
    Missing,
    /// The folder cannot be watched, or others can change it without an event.
    Unwatched,
}

impl FileWatcher {
    /// Returns the watched path to a folder. A known, unchanged path is not walked again.
    pub(super) fn dir_watch(&self, folder: &[u8]) -> Rc<DirWatch> {
        let known = self.ways.borrow().get(folder).cloned();
        if let Some(way) = known.filter(|way| way.validity.holds()) {
            // If a process holds a deleted folder open, no event comes. But a new watch then has
            // another number.
            match &way.end {
                End::Folder(number, path) if self.end(path) == Ok(*number) => return way,
                _ => {}
            }
        }
        self.make_room();
        let validity = Rc::new(CacheValidity::default());
        let end = self.watch_folder(folder, &validity);
        let way = Rc::new(DirWatch { validity, end });
        if let End::Folder(..) = way.end {
            self.ways.borrow_mut().insert(folder.into(), way.clone());
        }
        way
    }

    /// Walks the path to a folder and watches the folder's files.
    fn watch_folder(&self, folder: &[u8], validity: &Rc<CacheValidity>) -> End {
        let here = match self.walk(folder, validity) {
            Ok(here) => here,
            Err(end) => return end,
        };
        match self.end(&here) {
            Ok(number) if tells_changes(&here) => End::Folder(number, here),
            _ => End::Unwatched,
        }
    }

    /// Walks the path to a folder. Returns the folder's path without links, or the reason why the
    /// path does not lead to a folder. Each part is watched before it is examined, so no change is
    /// missed.
    fn walk(&self, folder: &[u8], validity: &Rc<CacheValidity>) -> Result<Vec<u8>, End> {
        let mut rest: VecDeque<Vec<u8>> = parts(folder).collect();
        let mut here = Vec::new();
        let mut links = 0;
        while let Some(part) = rest.pop_front() {
            if part == b".." {
                let end = memchr::memrchr(b'/', &here).unwrap_or(0);
                here.truncate(end);
                continue;
            }
            let next = [&here[..], b"/", &part].concat();
            match self.watch(&c_path(&next), ITSELF) {
                Ok(number) => {
                    self.note(number, None, validity);
                    here = next;
                }
                Err(error @ (Errno::NOTDIR | Errno::NOENT | Errno::LOOP)) => {
                    let Ok(number) = self.watch(&c_path(&here), NAMES) else {
                        return Err(End::Unwatched);
                    };
                    self.note(number, Some(&part), validity);
                    links += 1;
                    let target = rustix::fs::readlink(c_path(&next).as_c_str(), Vec::new());
                    match target {
                        _ if links > LINKS => return Err(End::Missing),
                        Ok(target) => {
                            if target.as_bytes().starts_with(b"/") {
                                here.clear();
                            }
                            let parts: Vec<Vec<u8>> = parts(target.as_bytes()).collect();
                            parts
                                .into_iter()
                                .rev()
                                .for_each(|part| rest.push_front(part));
                        }
                        // The folder was created meanwhile.
                        Err(Errno::INVAL) if error == Errno::NOENT => rest.push_front(part),
                        Err(_) => return Err(End::Missing),
                    }
                }
                Err(_) => return Err(End::Unwatched),
            }
        }
        Ok(here)
    }

    /// Watches one file and the path to it, but not the rest of its folder. Returns `None` if the
    /// file does not exist, its name is a link, or it cannot be watched.
    pub fn depend_on_file(&self, file: &[u8]) -> Option<(Rc<CacheValidity>, Stat)> {
        self.make_room();
        let slash = memchr::memrchr(b'/', file)?;
        let validity = Rc::new(CacheValidity::default());
        let folder = self.walk(&file[..slash], &validity).ok()?;
        let name = c_path(&[&folder[..], &file[slash..]].concat());
        let number = self.watch(&name, FILE).ok()?;
        self.note(number, None, &validity);
        let stat = rustix::fs::lstat(name.as_c_str()).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        (is_file && tells_changes(&folder)).then_some((validity, stat))
    }

    fn end(&self, folder: &[u8]) -> rustix::io::Result<i32> {
        self.watch(&c_path(folder), FILES)
    }
}

fn parts(path: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let parts = path.split(|&byte| byte == b'/');
    let parts = parts.filter(|part| !part.is_empty() && *part != b".");
    parts.map(<[u8]>::to_vec)
}

/// Converts a path for a system call. An empty path is the root folder. Neither requests nor links
/// contain a NUL.
pub fn c_path(path: &[u8]) -> CString {
    let path = if path.is_empty() { b"/" } else { path };
    CString::new(path).unwrap_or_default()
}

/// Returns whether only calls of this system change files of this file system. Other file systems
/// (NFS, FUSE, shares of a virtual machine's host) may be changed from elsewhere without inotify
/// events.
fn tells_changes(folder: &[u8]) -> bool {
    const LOCAL: [u32; 15] = [
        0xEF53,      // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683E, // Btrfs
        0x0102_1994, // tmpfs
        0x8584_58F6, // ramfs
        0xF2F5_2010, // F2FS
        0x794C_7630, // overlayfs
        0x2FC1_2FC1, // ZFS
        0xCA45_1A4E, // bcachefs
        0x7371_7368, // SquashFS
        0xE0F5_E1E2, // EROFS
        0x9660,      // ISO 9660
        0x5265_4973, // ReiserFS
        0x3153_464A, // JFS
        0x4D44,      // FAT
    ];
    rustix::fs::statfs(c_path(folder).as_c_str())
        .is_ok_and(|found| LOCAL.contains(&(found.f_type as u32)))
}
