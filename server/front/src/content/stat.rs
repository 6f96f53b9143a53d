//! Calls stat(2) for paths. Symbolic links are followed.

use rustix::fs::{FileType, Stat};
use std::ffi::CString;

/// Calls stat(2). A final slash of `file` is left out, because it only says that a folder is
/// expected.
pub fn stat(file: &[u8]) -> Option<(CString, Stat)> {
    let file = match file {
        [rest @ .., b'/'] if !rest.is_empty() => rest,
        file => file,
    };
    let name = CString::new(file).ok()?;
    let stat = rustix::fs::stat(name.as_c_str()).ok()?;
    Some((name, stat))
}

/// Returns whether `stat` describes a device.
pub fn is_device(stat: &Stat) -> bool {
    let kind = FileType::from_raw_mode(stat.st_mode);
    matches!(kind, FileType::CharacterDevice | FileType::BlockDevice)
}

/// Returns whether `stat` describes a regular file.
pub fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}
