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

/// Gives each line of the file to `look`, as Apache reads it: without comments, without white space
/// around it, and together with the next line if it ends with a backslash. Returns the first answer
/// of `look`.
///
/// # Errors
///
/// The error of [`plain`] or of reading.
pub(crate) fn find_in_lines<T>(
    file: &Path,
    longest: u64,
    mut look: impl FnMut(&[u8]) -> Option<T>,
) -> io::Result<Option<T>> {
    let mut whole = Vec::new();
    for line in BufReader::new(plain(file)?.take(longest)).split(b'\n') {
        let line = line?;
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if let Some(begun) = line.strip_suffix(b"\\") {
            whole.extend_from_slice(begun);
            continue;
        }
        whole.extend_from_slice(line);
        let found = uncommented(&whole).and_then(&mut look);
        if found.is_some() {
            return Ok(found);
        }
        whole.clear();
    }
    Ok(uncommented(&whole).and_then(look))
}

fn uncommented(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    (!line.is_empty() && !line.starts_with(b"#")).then_some(line)
}

/// Returns the text behind `user:` in the file, or `None` if the file does not list the user.
pub fn password_of(file: &Path, user: &[u8]) -> io::Result<Option<String>> {
    find_in_lines(file, LONGEST, |line| {
        let rest = line.strip_prefix(user)?.strip_prefix(b":")?;
        let mut fields = rest.split(|byte| *byte == b':');
        let password = fields.find(|field| !field.is_empty()).unwrap_or_default();
        Some(String::from_utf8_lossy(password).into_owned())
    })
}

/// Returns whether the file lists the user in the group.
pub fn is_member(file: &Path, user: &[u8], group: &str) -> bool {
    let is_listed = find_in_lines(file, LONGEST_GROUPS, |line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let mut members = line[colon + 1..].split(u8::is_ascii_whitespace);
        let is_group = line[..colon].trim_ascii_end() == group.as_bytes();
        (is_group && members.any(|member| member == user)).then_some(())
    });
    is_listed.is_ok_and(|found| found.is_some())
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
