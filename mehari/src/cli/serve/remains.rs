//! Removes the pid file and the control socket at the server's end, even from folders in which the
//! server may no longer write.
//!
//! Before the server becomes another user, it starts a shell as root. The shell waits for the end
//! of its input, which comes when the server ends, however it ends. Then the shell removes the
//! files by name.

use mehari_config::Site;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let number = text.trim_end().parse();
        // The file of a start that fails is empty. In an upgrade the file has the number of the
        // process that is the server.
        let is_ours = match self.is_written {
            true => number == Ok(std::process::id()),
            false => number.is_err(),
        };
        if is_ours {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The shell process that removes files. It keeps the rights of the user who started it.
pub struct Keeper(Child);

impl Keeper {
    pub fn of<'p>(files: impl IntoIterator<Item = &'p Path>) -> io::Result<Keeper> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "read -r _; rm -f -- \"$@\"", "mehari-keeper"]);
        // The shell runs in another folder, so relative names are made absolute.
        for file in files {
            shell.arg(std::path::absolute(file)?);
        }
        // The shell has its own process group, so the terminal's signals do not reach it.
        shell
            .process_group(0)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(Keeper)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.stdin = None;
        let _ = self.0.wait();
    }
}
