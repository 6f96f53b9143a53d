//! Finds the existing part of a mapped path. Symbolic links are followed.

use crate::content::stat::is_file;
use rustix::fs::{Mode, OFlags, ResolveFlags, Stat, CWD};
use rustix::io::Errno;
use std::ffi::CString;

/// The most segments of a path behind the last existing segment.
const DEPTH: usize = 64;

/// An existing file or folder, and the length of the path behind it.
pub struct ExistingPath {
    pub file: Vec<u8>,
    /// The file's path in the form that system calls need.
    pub name: CString,
    pub stat: Stat,
    /// Length in bytes of the rest of the URL path (PATH_INFO).
    pub rest: usize,
    /// What follows the existing part in the mapped path.
    pub behind: Vec<u8>,
}

/// Whether stat(2) of a path needs no disk, because the system's cache knows every part of the path
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

/// Finds the existing part of a path: removes segments from the end until the path exists. Only
/// segments in the last `chosen` bytes, which come from the client, are removed. `look` is
/// [`stat`], or a function that also records the path.
pub fn back(
    file: &[u8],
    chosen: usize,
    look: impl Fn(&[u8]) -> Option<(CString, Stat)>,
) -> Option<ExistingPath> {
    let fixed = file.len().saturating_sub(chosen);
    let mut end = file.len();
    for _ in 0..DEPTH {
        let name = file[..end].strip_suffix(b"/").unwrap_or(&file[..end]);
        let exists = look(if name.is_empty() { b"/" } else { &file[..end] });
        if let Some((c_name, stat)) = exists {
            return Some(ExistingPath {
                file: name.to_vec(),
                name: c_name,
                stat,
                behind: file[name.len()..].to_vec(),
                rest: (file.len() - name.len()).min(chosen),
            });
        }
        end = memchr::memrchr(b'/', name).filter(|&slash| slash >= fixed)?;
    }
    None
}

/// The path that Apache has walked to a file: the existing folders and one more name. The slash
/// behind a folder is kept.
pub struct WalkedPath {
    pub path: Vec<u8>,
    /// The length of the part that exists. A file with a PATH_INFO does not belong to this part,
    /// because no folder is inside a file.
    existing: usize,
}

impl WalkedPath {
    pub fn existing(&self) -> &[u8] {
        &self.path[..self.existing]
    }
}

/// Walks to a file.
pub fn walk(file: &[u8], look: impl Fn(&[u8]) -> Option<(CString, Stat)>) -> WalkedPath {
    let parent = |path: &[u8]| memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1);
    let Some(found) = back(file, file.len(), look) else {
        return WalkedPath {
            path: file.to_vec(),
            existing: parent(file),
        };
    };
    let (known, behind) = (found.file.len(), &found.behind[..]);
    let (walked, existing) = match (is_file(&found.stat), behind) {
        (_, b"") => (known, known),
        (true, _) => (known, parent(&found.file)),
        (false, _) => {
            let next = behind[1..].iter().position(|&byte| byte == b'/');
            (
                known + next.map_or(behind.len(), |next| next + 1),
                known + 1,
            )
        }
    };
    WalkedPath {
        path: file[..walked].to_vec(),
        existing,
    }
}

/// Returns the length of the SCRIPT_NAME of a path with this PATH_INFO. Rules may have made the
/// PATH_INFO of another text. Like in Apache, SCRIPT_NAME is then the path without the segments
/// with which both end.
pub fn script_length(path: &[u8], info: &[u8]) -> usize {
    let ends = path.iter().rev().zip(info.iter().rev());
    let same = ends.take_while(|(one, other)| one == other).count();
    let at = path.len() - same;
    let next = path[at..].iter().position(|&byte| byte == b'/');
    next.map_or(path.len(), |next| at + next)
}
