//! The way to a folder: every part of its path watched, links on it followed as the system follows them.

use super::{Footing, Ground};
use rustix::fs::inotify::WatchFlags;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::CString;
use std::rc::Rc;

/// Links on the way to a file, as the system bears them (path_resolution(7)).
pub const LINKS: usize = 40;

/// What ends a way. Nothing that the folder's children do: for that the system would mark every name it remembers of it, tens of
/// thousands in a `/tmp`. Who may go the way no more is found by the second look.
const ITSELF: WatchFlags = WatchFlags::DELETE_SELF
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);
/// What changes what a name stands for.
const NAMES: WatchFlags = ITSELF
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO);
/// And what is in the files, and who may read them.
const FILES: WatchFlags = NAMES
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE);
/// A file that has other names, by which it may be written.
pub const FILE: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::DONT_FOLLOW);

pub struct Way {
    pub footing: Rc<Footing>,
    pub end: End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// A watched folder, and its path without links.
    Folder(i32, Vec<u8>),
    /// There is no such folder.
    Missing,
    /// It cannot be watched, or others can change it unseen.
    Unwatched,
}

impl Ground {
    /// The way to a folder; one that is known and still the same is not gone again.
    pub(super) fn way(&self, folder: &[u8]) -> Rc<Way> {
        let known = self.ways.borrow().get(folder).cloned();
        if let Some(way) = known.filter(|way| way.footing.holds()) {
            // A folder that somebody holds open ends without a word: its place tells.
            match &way.end {
                End::Folder(number, path) if self.end(path) == Ok(*number) => return way,
                _ => {}
            }
        }
        self.make_room();
        let footing = Rc::new(Footing::default());
        let end = self.go(folder, &footing);
        let way = Rc::new(Way { footing, end });
        if let End::Folder(..) = way.end {
            self.ways.borrow_mut().insert(folder.into(), way.clone());
        }
        way
    }

    /// To watch a folder's files.
    fn go(&self, folder: &[u8], footing: &Rc<Footing>) -> End {
        let here = match self.walk(folder, footing) {
            Ok(here) => here,
            Err(end) => return end,
        };
        match self.end(&here) {
            Ok(number) if tells_changes(&here) => End::Folder(number, here),
            _ => End::Unwatched,
        }
    }

    /// Where the way to a folder ends, without links; or why not there. Each step is watched before it is looked at, so that no
    /// change falls between.
    fn walk(&self, folder: &[u8], footing: &Rc<Footing>) -> Result<Vec<u8>, End> {
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
                    self.note(number, None, footing);
                    here = next;
                }
                Err(error @ (Errno::NOTDIR | Errno::NOENT | Errno::LOOP)) => {
                    let Ok(number) = self.watch(&c_path(&here), NAMES) else {
                        return Err(End::Unwatched);
                    };
                    self.note(number, Some(&part), footing);
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
                        // A folder, made since it was not there.
                        Err(Errno::INVAL) if error == Errno::NOENT => rest.push_front(part),
                        Err(_) => return Err(End::Missing),
                    }
                }
                Err(_) => return Err(End::Unwatched),
            }
        }
        Ok(here)
    }

    /// What happens to one file, and to the way to it; nothing else of its folder. `None`: there is no such file, a link leads from
    /// its name, or it cannot be watched.
    pub fn stand_on_file(&self, file: &[u8]) -> Option<(Rc<Footing>, Stat)> {
        self.make_room();
        let slash = memchr::memrchr(b'/', file)?;
        let footing = Rc::new(Footing::default());
        let folder = self.walk(&file[..slash], &footing).ok()?;
        let name = c_path(&[&folder[..], &file[slash..]].concat());
        let number = self.watch(&name, FILE).ok()?;
        self.note(number, None, &footing);
        let stat = rustix::fs::lstat(name.as_c_str()).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        (is_file && tells_changes(&folder)).then_some((footing, stat))
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

/// The root folder where the path is empty. A path with a NUL is none: no request and no link has one.
pub fn c_path(path: &[u8]) -> CString {
    let path = if path.is_empty() { b"/" } else { path };
    CString::new(path).unwrap_or_default()
}

/// File systems whose files change by this system's calls only. On others (NFS, FUSE, what a virtual machine's host
/// lends) changes may come from elsewhere, and inotify would not know.
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
