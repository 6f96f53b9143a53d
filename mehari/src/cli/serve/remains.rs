//! Removes the pid file and the control socket at the server's end, even from folders that the
//! server may no longer write to.
//!
//! A server that becomes another user leaves a shell behind as root. The shell reads only the end
//! of its input, which comes when the server ends in any way, and then removes the two files by
//! name.

use mehari_config::Site;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// `PidFile`, removed at the end.
pub struct PidFile {
    path: PathBuf,
    file: File,
}

impl PidFile {
    /// The file stays empty until the server serves, so the process is ready when another process
    /// signals it.
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

/// Removes files with the rights of the user who started it.
pub struct Keeper(Child);

impl Keeper {
    pub fn of<'p>(files: impl IntoIterator<Item = &'p Path>) -> io::Result<Keeper> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "read -r _; rm -f -- \"$@\"", "mehari-keeper"]);
        // A relative name must mean the same from any folder.
        for file in files {
            shell.arg(std::path::absolute(file)?);
        }
        // In its own process group, so the terminal's signals do not reach it.
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
