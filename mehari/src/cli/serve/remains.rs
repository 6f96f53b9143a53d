//! What a server leaves in folders that it may not be allowed to write to any more when it ends: its pid
//! file and its control socket.
//!
//! A server that has become another user leaves a shell behind that is still root's. It reads nothing but the
//! end of its input, which comes when the server ends in whatever way, and removes the two by name.

use mehari_config::Site;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// `PidFile`, taken away at the end.
pub struct PidFile {
    path: PathBuf,
    file: File,
}

impl PidFile {
    /// Empty until the server serves: whoever sends a signal to its number has to find it listening.
    pub fn open(site: &Site) -> Result<Option<PidFile>, String> {
        let Some(path) = site.process.pid_file.clone() else {
            return Ok(None);
        };
        let file =
            File::create(&path).map_err(|error| format!("PidFile {}: {error}", path.display()))?;
        Ok(Some(PidFile { path, file }))
    }

    pub fn write(&mut self) -> Result<(), String> {
        writeln!(self.file, "{}", std::process::id())
            .map_err(|error| format!("PidFile {}: {error}", self.path.display()))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Removes files with the rights of whoever started it.
pub struct Keeper(Child);

impl Keeper {
    pub fn of<'p>(files: impl IntoIterator<Item = &'p Path>) -> io::Result<Keeper> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "read -r _; rm -f -- \"$@\"", "mehari-keeper"]);
        // A relative name means the same from here.
        for file in files {
            shell.arg(std::path::absolute(file)?);
        }
        // In a group of its own: what a terminal sends to the server is not for it.
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
