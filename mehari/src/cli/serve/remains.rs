//! The pid file, and which files of a server are its own to remove. For a server that has become
//! another user `keeper_process.rs` removes them.

use mehari_config::Site;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file of `PidFile`. It is removed at the server's end.
pub struct PidFile {
    path: PathBuf,
    file: File,
    is_written: bool,
}

impl PidFile {
    /// Creates the file. The file stays empty until the server serves. A process that reads the
    /// number from the file can therefore signal the server at once. In an upgrade the file keeps
    /// the number of the server that this process replaces until then.
    pub fn open(site: &Site, is_upgrade: bool) -> Result<Option<PidFile>, String> {
        let Some(path) = site.process.pid_file.clone() else {
            return Ok(None);
        };
        let mut options = File::options();
        options.write(true).create(true).truncate(!is_upgrade);
        let file = options
            .open(&path)
            .map_err(|error| format!("PidFile {}: {error}", path.display()))?;
        Ok(Some(PidFile {
            path,
            file,
            is_written: false,
        }))
    }

    pub fn write(&mut self) -> Result<(), String> {
        self.is_written = true;
        let text = format!("{}\n", std::process::id());
        let written = self.file.write_all(text.as_bytes());
        // The number of the replaced server may be longer.
        written
            .and_then(|()| self.file.set_len(text.len() as u64))
            .map_err(|error| format!("PidFile {}: {error}", self.path.display()))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let own = self.is_written.then(std::process::id);
        remove_pid_file(&self.path, own);
    }
}

/// Removes the pid file of a server if the file has the server's number, or no number. The file of
/// a start that fails is empty. In an upgrade the file has the number of the process that is the
/// server.
pub fn remove_pid_file(path: &Path, own: Option<u32>) {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let is_ours = match text.trim_end().parse::<u32>() {
        Ok(number) => Some(number) == own,
        Err(_) => true,
    };
    if is_ours {
        let _ = std::fs::remove_file(path);
    }
}

/// Returns the device and the number of a file.
pub fn identity_of_file(path: &Path) -> io::Result<(u64, u64)> {
    let meta = std::fs::symlink_metadata(path)?;
    Ok((meta.dev(), meta.ino()))
}
