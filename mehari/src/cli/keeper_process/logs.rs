//! Opens log files again after a rotation, where the server's user may not: in folders that only
//! root can change, such as `/var/log/apache2`.
//!
//! The folders are opened at the start, and an order names a file by its number only. In a folder
//! in which somebody else can write, a link could lead to any file, so nothing is opened there.

use mehari_wire::send_with_files;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, FileType, Mode, OFlags};
use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The rights of a group and of others to change a folder.
const WRITABLE_FOR_OTHERS: u32 = 0o022;

/// The logs that the server has opened as root.
#[derive(Default)]
pub struct KeptLogs(Vec<KeptLog>);

/// A log file. The folder is `None` if it could not be opened.
struct KeptLog {
    folder: Option<OwnedFd>,
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
        let folder = path.parent().and_then(|folder| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            fs::open(folder, flags, Mode::empty()).ok()
        });
        let name = path.file_name().unwrap_or_default().to_owned();
        KeptLog { folder, name }
    }

    fn open(&self) -> io::Result<OwnedFd> {
        let folder = self.folder.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let meta = std::fs::File::from(folder.try_clone()?).metadata()?;
        if meta.uid() != 0 || meta.mode() & WRITABLE_FOR_OTHERS != 0 {
            return Err(refused("somebody other than root can write to its folder"));
        }
        let flags = OFlags::APPEND
            | OFlags::CREATE
            | OFlags::WRONLY
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let file = fs::openat(folder, &self.name, flags, Mode::from_raw_mode(0o666))?;
        match FileType::from_raw_mode(fs::fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file),
            _ => Err(refused("it is no regular file")),
        }
    }
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}
