//! Walks to a file as Apache does, and decides whether the symbolic links on the way may be
//! followed (`Options FollowSymLinks`, `SymLinksIfOwnerMatch`).

use mehari_config::Links;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use std::path::{Component, Path, PathBuf};

/// Whether the walk to a file may go on at every link. The first `known` bytes of the path exist.
/// `links_in` says which links a folder may contain. As in Apache, the walk ends at a link that
/// leads nowhere, and at a name that may not be looked at.
pub fn may_walk(file: &Path, known: usize, links_in: &dyn Fn(&Path) -> Links) -> bool {
    let mut place = PathBuf::new();
    for part in file.components() {
        let links = links_in(&place);
        place.push(part);
        let exists = place.as_os_str().len() <= known;
        if !matches!(part, Component::Normal(_)) || (exists && links.are_all_followed()) {
            continue;
        }
        match step(&place, links) {
            Step::Folder => {}
            Step::End => return true,
            Step::Refused => return false,
        }
    }
    true
}

/// What stands at one name of the path.
enum Step {
    Folder,
    /// A file, or nothing: the rest of the path is PATH_INFO.
    End,
    Refused,
}

fn step(place: &Path, links: Links) -> Step {
    let found = match rustix::fs::lstat(place) {
        Ok(found) if kind(&found) == FileType::Symlink => match target(place, &found, links) {
            Some(target) => target,
            None => return Step::Refused,
        },
        Ok(found) => found,
        Err(Errno::NOENT) => return Step::End,
        Err(_) => return Step::Refused,
    };
    match kind(&found) {
        FileType::Directory => Step::Folder,
        FileType::RegularFile => Step::End,
        _ => Step::Refused,
    }
}

/// Returns the target of a link that may be followed.
fn target(place: &Path, link: &Stat, links: Links) -> Option<Stat> {
    if links.are_refused() {
        return None;
    }
    let target = rustix::fs::stat(place).ok()?;
    (links.are_all_followed() || target.st_uid == link.st_uid).then_some(target)
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}
