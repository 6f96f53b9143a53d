//! Opens log files again after a rotation, where the server's user may not: in folders that only
//! root can change, such as `/var/log/apache2`.
//!
//! An order names a file by its number only, and the paths were fixed at the start. A folder may be
//! made again later, so the way to it is walked anew for each order. In a folder that somebody else
//! can change, a link could lead to any file, so nothing is opened there.

use mehari_wire::send_with_files;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, FileType, Mode, OFlags};
use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::path::{Component, Path, PathBuf};

/// The rights of a group and of others to change a folder.
const WRITABLE_FOR_OTHERS: u32 = 0o022;
/// In a folder with this bit, such as /tmp, others cannot rename what belongs to root.
const STICKY: u32 = 0o1000;

/// The logs that the server has opened as root.
#[derive(Default)]
pub struct KeptLogs(Vec<KeptLog>);

/// A log file: its folder without symbolic links, and its name.
struct KeptLog {
    folder: PathBuf,
    name: OsString,
}

impl KeptLogs {
    pub fn of(paths: impl Iterator<Item = OsString>) -> KeptLogs {
        KeptLogs(paths.map(|path| KeptLog::of(path.into())).collect())
    }

    /// Opens the log with this number and sends the file over `to`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a number without a log, `PermissionDenied` for a folder that somebody
    /// else can change, or the error of opening or sending.
    pub fn send(&self, number: &str, to: &impl AsFd) -> io::Result<()> {
        let place: Option<usize> = number.parse().ok();
        let log = place.and_then(|place| self.0.get(place));
        let (place, log) = place.zip(log).ok_or(io::ErrorKind::InvalidInput)?;
        let file = log.open()?;
        let number = (place as u64).to_ne_bytes();
        send_with_files(to, &[IoSlice::new(&number)], &[file.as_fd()])
    }
}

impl KeptLog {
    fn of(path: PathBuf) -> KeptLog {
        let folder = path.parent().unwrap_or(Path::new("/"));
        KeptLog {
            // A folder that does not exist has no log.
            folder: folder.canonicalize().unwrap_or_default(),
            name: path.file_name().unwrap_or_default().to_owned(),
        }
    }

    fn open(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::APPEND
            | OFlags::CREATE
            | OFlags::WRONLY
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let folder = safe_folder(&self.folder)?;
        let file = fs::openat(folder, &self.name, flags, Mode::from_raw_mode(0o666))?;
        match FileType::from_raw_mode(fs::fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file),
            _ => Err(refused("it is no regular file")),
        }
    }
}

/// Opens a folder to which only root can make another way: every folder of the path belongs to
/// root, and nobody else can write to it.
fn safe_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = fs::open("/", flags, Mode::empty())?;
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    for name in names {
        check(&folder, STICKY)?;
        folder = fs::openat(&folder, name, flags, Mode::empty())?;
    }
    check(&folder, 0)?;
    Ok(folder)
}

/// Refuses a folder that somebody else can change. `enough`: the bits that protect root's entries
/// in a folder in which others can write.
fn check(folder: &OwnedFd, enough: u32) -> io::Result<()> {
    let stat = fs::fstat(folder)?;
    let is_protected = stat.st_mode & WRITABLE_FOR_OTHERS == 0 || stat.st_mode & enough != 0;
    if stat.st_uid == 0 && is_protected {
        Ok(())
    } else {
        Err(refused("somebody other than root can write to its folder"))
    }
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}
