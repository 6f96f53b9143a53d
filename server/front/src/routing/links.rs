//! `Options FollowSymLinks` and `SymLinksIfOwnerMatch`: decides whether the links on a path may be
//! followed.

use mehari_config::Links;
use rustix::fs::{FileType, Stat};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether every link on the path may be followed.
pub fn may_follow(file: &[u8], links: Links) -> bool {
    if links == Links::Followed {
        return true;
    }
    let path = Path::new(OsStr::from_bytes(file));
    path.ancestors().all(|part| {
        let Ok(link) = rustix::fs::lstat(part) else {
            // What is missing cannot be a link.
            return true;
        };
        !is_link(&link) || (links == Links::OfOneOwner && is_of_one_owner(part, &link))
    })
}

fn is_link(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Symlink
}

fn is_of_one_owner(link: &Path, stat: &Stat) -> bool {
    rustix::fs::stat(link).is_ok_and(|target| target.st_uid == stat.st_uid)
}
