//! Looking at the file system: what of a mapped path exists. Symbolic links are followed.

use crate::content::stat::{is_file, stat};
use rustix::fs::{Mode, OFlags, ResolveFlags, Stat, CWD};
use rustix::io::Errno;
use std::ffi::CString;

/// A path with more segments than this behind the last one that exists is not looked for.
const DEPTH: usize = 64;

/// An existing file or folder, and what of the path lies behind it.
pub struct Found {
    pub file: Vec<u8>,
    /// The same for system calls.
    pub name: CString,
    pub stat: Stat,
    /// Bytes of the URL path that lie behind it: PATH_INFO.
    pub rest: usize,
}

/// Whether looking at a path would not wait for a disk: all of it is in the system's memory, or known not to exist
/// (openat2(2), `RESOLVE_CACHED`).
pub fn is_remembered(file: &[u8]) -> bool {
    let Ok(name) = CString::new(file) else {
        return true;
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(
        CWD,
        name.as_c_str(),
        flags,
        Mode::empty(),
        ResolveFlags::CACHED,
    );
    !matches!(opened, Err(Errno::AGAIN))
}

/// Takes segments off the end until something exists: usually at once. Only as much as the client
/// chose, the last `chosen` bytes, is taken off. `look` is [`stat`], or notes what it looks at as well.
pub fn back(
    file: &[u8],
    chosen: usize,
    look: impl Fn(&[u8]) -> Option<(CString, Stat)>,
) -> Option<Found> {
    let fixed = file.len().saturating_sub(chosen);
    let mut end = file.len();
    for _ in 0..DEPTH {
        let name = file[..end].strip_suffix(b"/").unwrap_or(&file[..end]);
        let exists = look(if name.is_empty() { b"/" } else { &file[..end] });
        if let Some((c_name, stat)) = exists {
            return Some(Found {
                file: name.to_vec(),
                name: c_name,
                stat,
                rest: (file.len() - name.len()).min(chosen),
            });
        }
        end = memchr::memrchr(b'/', name).filter(|&slash| slash >= fixed)?;
    }
    None
}

/// Bytes of `path` that are a handler's SCRIPT_NAME: as in Apache the folders that exist and one
/// segment more.
pub fn handler_length(file: &[u8], path: &[u8]) -> usize {
    let Some(found) = back(file, path.len(), stat) else {
        return path.len();
    };
    let known = path.len() - found.rest;
    if is_file(&found.stat) {
        return known;
    }
    let next = path[known..].iter().skip(1).position(|&byte| byte == b'/');
    next.map_or(path.len(), |at| known + 1 + at)
}
