//! Reads user and group files as `htpasswd` and editors write them. User files are read outside the
//! front's thread. Group files are few, so the front's thread reads them.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The longest file in bytes.
const LONGEST: u64 = 64 << 20;
const LONGEST_GROUPS: u64 = 1 << 20;

/// Opens the file if it is a regular file. A .htaccess could also name a pipe or a device, and
/// reading a pipe or a device may block.
///
/// # Errors
///
/// The error of open(2), or an error for anything but a regular file.
pub fn plain(file: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(file)?;
    if opened.metadata()?.is_file() {
        Ok(opened)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

/// Returns the text behind `user:` in the file, or `None` if the file does not list the user.
pub fn password_of(file: &Path, user: &[u8]) -> io::Result<Option<String>> {
    let lines = BufReader::new(plain(file)?.take(LONGEST));
    for line in lines.split(b'\n') {
        let line = line?;
        let line = line.trim_ascii();
        let Some(rest) = line
            .strip_prefix(user)
            .and_then(|rest| rest.strip_prefix(b":"))
        else {
            continue;
        };
        let password = rest.split(|byte| *byte == b':').next().unwrap_or_default();
        return Ok(Some(String::from_utf8_lossy(password).into_owned()));
    }
    Ok(None)
}

/// Returns whether the file lists the user in the group.
pub fn is_member(file: &Path, user: &[u8], group: &str) -> bool {
    let mut text = Vec::new();
    let read = plain(file).and_then(|file| file.take(LONGEST_GROUPS).read_to_end(&mut text));
    if read.is_err() {
        return false;
    }
    text.split(|byte| *byte == b'\n').any(|line| {
        let line = line.trim_ascii();
        let members = line
            .strip_prefix(group.as_bytes())
            .and_then(|rest| rest.strip_prefix(b":"));
        members.is_some_and(|members| {
            members
                .split(u8::is_ascii_whitespace)
                .any(|member| member == user)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_place_of_a_group_file_does_not_block() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0)
            .expect("made");
        assert!(!is_member(&pipe, b"ann", "staff"));
        assert!(password_of(&pipe, b"ann").is_err());
        assert!(password_of(Path::new("/dev/zero"), b"ann").is_err());
    }
}
