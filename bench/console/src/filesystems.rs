//! Lists the mounted file systems with their room. Network file systems are named but not asked,
//! because a server that does not answer would block the question.

use serde::Serialize;
use std::collections::HashSet;

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct MountedFileSystem {
    pub device: String,
    pub kind: String,
    pub at: String,
    /// `None`: a network file system.
    pub room: Option<Room>,
}

/// Bytes, and numbers of files.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Room {
    pub total: u64,
    pub used: u64,
    pub available: u64,
    pub files: u64,
    pub files_used: u64,
}

const OF_THE_NETWORK: &[&str] = &["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs"];

/// Kinds that hold files of users although they have no device.
const WITHOUT_DEVICE: &[&str] = &["overlay", "tmpfs", "zfs", "btrfs", "virtiofs"];

/// Returns the file systems that hold files of users, each device once.
pub fn mounted() -> Vec<MountedFileSystem> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    parse(&mounts)
        .map(|mut found| {
            found.room = if OF_THE_NETWORK.contains(&found.kind.as_str()) {
                None
            } else {
                room(&found.at)
            };
            found
        })
        .filter(|found| found.room.as_ref().is_none_or(|room| room.total > 0))
        .collect()
}

fn parse(mounts: &str) -> impl Iterator<Item = MountedFileSystem> + '_ {
    let mut seen = HashSet::new();
    mounts.lines().filter_map(move |line| {
        let mut words = line.split(' ');
        let (device, at, kind) = (words.next()?, words.next()?, words.next()?);
        let is_network = OF_THE_NETWORK.contains(&kind);
        let has_files = device.starts_with('/') || WITHOUT_DEVICE.contains(&kind) || is_network;
        // Each tmpfs has the same device.
        let is_new = seen.insert(if kind == "tmpfs" { at } else { device });
        (has_files && is_new).then(|| MountedFileSystem {
            device: device.to_owned(),
            kind: kind.to_owned(),
            // The kernel writes a space as \040.
            at: at.replace("\\040", " "),
            room: None,
        })
    })
}

fn room(at: &str) -> Option<Room> {
    let told = rustix::fs::statvfs(at).ok()?;
    Some(Room {
        total: told.f_blocks * told.f_frsize,
        used: told.f_blocks.saturating_sub(told.f_bfree) * told.f_frsize,
        available: told.f_bavail * told.f_frsize,
        files: told.f_files,
        files_used: told.f_files.saturating_sub(told.f_ffree),
    })
}

#[cfg(test)]
mod tests {
    use super::{mounted, parse};

    #[test]
    fn only_file_systems_with_files_are_listed_and_each_device_once() {
        let mounts =
            "/dev/sda1 / ext4 rw 0 0\n/dev/sda1 /also ext4 rw 0 0\nproc /proc proc rw 0 0\n\
                      host:/a /far\\040away nfs4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\nshort\n";
        let found: Vec<_> = parse(mounts).map(|it| (it.at, it.kind)).collect();
        let expected = [("/", "ext4"), ("/far away", "nfs4"), ("/tmp", "tmpfs")];
        assert_eq!(
            found,
            expected.map(|(at, kind)| (at.to_owned(), kind.to_owned()))
        );
        assert!(mounted().iter().any(|it| it.room.is_some()));
    }
}
