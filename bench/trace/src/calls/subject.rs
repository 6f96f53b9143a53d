//! Finds the file that a system call is about: a path among its arguments, or the path behind a
//! descriptor.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The longest path (linux/limits.h).
const LONGEST: usize = 4096;
const PAGE: u64 = 4096;
/// `AT_FDCWD` as an argument.
const HERE: i32 = -100;

/// Which arguments name the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// This argument is a path.
    Path(usize),
    /// A descriptor of a folder, then a path.
    PathAt(usize),
    /// This argument is a descriptor.
    Descriptor(usize),
}

fn naming(call: &str) -> Option<Naming> {
    Some(match call {
        "open" | "creat" | "stat" | "lstat" | "access" | "readlink" | "unlink" | "rename"
        | "mkdir" | "rmdir" | "chdir" | "chmod" | "chown" | "lchown" | "truncate" | "execve"
        | "statfs" | "link" | "utime" | "utimes" | "getxattr" | "lgetxattr" => Naming::Path(0),
        "symlink" | "inotify_add_watch" => Naming::Path(1),
        "openat" | "openat2" | "newfstatat" | "fstatat64" | "statx" | "faccessat"
        | "faccessat2" | "readlinkat" | "unlinkat" | "renameat" | "renameat2" | "mkdirat"
        | "fchmodat" | "fchownat" | "utimensat" | "execveat" | "linkat" | "name_to_handle_at" => {
            Naming::PathAt(0)
        }
        "symlinkat" => Naming::PathAt(1),
        "read" | "pread64" | "readv" | "preadv" | "preadv2" | "write" | "pwrite64" | "writev"
        | "pwritev" | "pwritev2" | "fstat" | "close" | "lseek" | "getdents64" | "ftruncate"
        | "fsync" | "fdatasync" | "flock" | "fchdir" | "fchmod" | "fchown" | "fallocate"
        | "fadvise64" | "readahead" => Naming::Descriptor(0),
        "sendfile" => Naming::Descriptor(1),
        "mmap" => Naming::Descriptor(4),
        _ => return None,
    })
}

/// Reads the memory of stopped threads.
#[derive(Default)]
pub struct Memories(HashMap<u32, File>);

impl Memories {
    /// Forgets a process, whose memory another program may replace.
    pub fn forget(&mut self, tid: u32) {
        self.0.remove(&tid);
    }

    /// Returns the file that the call of a stopped thread is about.
    pub fn subject(&mut self, tid: u32, call: &str, arguments: &[u64; 6]) -> Option<PathBuf> {
        let (folder, path) = match naming(call)? {
            Naming::Descriptor(at) => return descriptor(tid, arguments[at]),
            Naming::Path(at) => (None, self.text(tid, arguments[at])?),
            Naming::PathAt(at) => (Some(arguments[at]), self.text(tid, arguments[at + 1])?),
        };
        let path = Path::new(std::ffi::OsStr::from_bytes(&path)).to_owned();
        let folder = match folder {
            _ if path.is_absolute() => return Some(path),
            Some(folder) if folder as i32 != HERE => descriptor(tid, folder),
            _ => fs::read_link(format!("/proc/{tid}/cwd")).ok(),
        };
        if path.as_os_str().is_empty() {
            folder
        } else {
            Some(folder.unwrap_or_default().join(path))
        }
    }

    /// Reads a text up to its NUL. Each read ends with a page, as the next page may be missing.
    fn text(&mut self, tid: u32, address: u64) -> Option<Vec<u8>> {
        let file = match self.0.entry(tid) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(File::open(format!("/proc/{tid}/mem")).ok()?)
            }
        };
        let mut text = Vec::new();
        while text.len() < LONGEST {
            let at = address.checked_add(text.len() as u64)?;
            let mut part = vec![0; (PAGE - at % PAGE) as usize];
            let count = file
                .read_at(&mut part, at)
                .ok()
                .filter(|count| *count > 0)?;
            match part[..count].iter().position(|byte| *byte == 0) {
                Some(end) => {
                    text.extend_from_slice(&part[..end]);
                    return Some(text);
                }
                None => text.extend_from_slice(&part[..count]),
            }
        }
        None
    }
}

/// Returns the path of a descriptor of a file. Sockets, pipes and the like have none.
fn descriptor(tid: u32, number: u64) -> Option<PathBuf> {
    let number = number as i32;
    if number < 0 {
        return None;
    }
    let path = fs::read_link(format!("/proc/{tid}/fd/{number}")).ok()?;
    path.is_absolute().then_some(path)
}
