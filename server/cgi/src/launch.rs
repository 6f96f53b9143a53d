//! Makes a process of a [`Program`]: environment, command line, stdin, and the reason of a failed
//! start. The module [`spawn`] starts the process.

use super::spawn::{self, Launch, Process};
use super::{arguments, Program, StartError};
use mehari_pool::variables::{self, Surroundings};
use mehari_pool::Body;
use rustix::fs::{Access, MemfdFlags};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Returns the command line, the environment and the folder.
pub fn command(program: &Program<'_>, around: &Surroundings<'_>) -> Result<Command, StartError> {
    let file = std::path::absolute(program.file).map_err(|_| StartError::NotFound)?;
    check(&file)?;
    let mut command = Command::new(&file);
    command
        .args(arguments::from_query(program.call.line.query))
        .current_dir(file.parent().unwrap_or(Path::new("/")))
        .env_clear();
    let mut fits = true;
    variables::each(&program.call, around, &mut |name, value| {
        fits &= !name.contains(&0) && !value.contains(&0);
        if !name.is_empty() && !name.contains(&b'=') {
            command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
        }
    });
    if fits {
        Ok(command)
    } else {
        Err(StartError::BadRequest)
    }
}

fn check(file: &Path) -> Result<(), StartError> {
    let metadata = std::fs::metadata(file).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => StartError::Forbidden,
        _ => StartError::NotFound,
    })?;
    let executable = rustix::fs::access(file, Access::EXEC_OK).is_ok();
    if metadata.is_file() && executable {
        Ok(())
    } else {
        Err(StartError::Forbidden)
    }
}

/// Returns the body as a file, positioned at its start. The program may seek in the file, and no
/// task has to write the body to the program.
pub fn stdin(body: Body<'_>) -> io::Result<OwnedFd> {
    let mut file = match body {
        Body::Empty => return Ok(File::open("/dev/null")?.into()),
        Body::Memory(bytes) => {
            let memory = rustix::fs::memfd_create("mehari-body", MemfdFlags::CLOEXEC)?;
            let mut file = File::from(memory);
            file.write_all(bytes)?;
            file
        }
        Body::File(descriptor, _) => File::from(descriptor),
    };
    file.rewind()?;
    Ok(file.into())
}

/// Starts the process. The call may block. If the file is just being written, the start is tried
/// again for a moment.
pub fn spawn(launch: &mut Launch) -> io::Result<Process> {
    for _ in 0..20 {
        match spawn::spawn(launch) {
            Err(error) if error.raw_os_error() == Some(libc::ETXTBSY) => {
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
    spawn::spawn(launch)
}

/// Returns the text for the error log if the system refuses to run `file`.
pub fn explain(file: &Path, error: &io::Error) -> String {
    let reason = match (error.kind(), error.raw_os_error()) {
        (_, Some(libc::ENOEXEC)) => {
            "expected a binary for this machine, or a first line like `#!/usr/bin/perl`".to_string()
        }
        (io::ErrorKind::NotFound, _) if file.exists() => match interpreter(file) {
            Some(name) if name.ends_with('\r') => format!(
                "its first line `#!{}` ends in CR LF; save it with LF line ends",
                name.trim_end()
            ),
            Some(name) => format!("its first line names `{name}`, which does not exist"),
            None => "the loader of this binary does not exist".to_string(),
        },
        (io::ErrorKind::PermissionDenied, _) => match interpreter(file) {
            Some(name) => format!("its interpreter `{}` may not be executed", name.trim_end()),
            None => "it may not be executed".to_string(),
        },
        _ => return format!("cannot run {}: {error}", file.display()),
    };
    format!("cannot run {}: {error}: {reason}", file.display())
}

/// Returns the first word after `#!` in the file.
fn interpreter(file: &Path) -> Option<String> {
    let mut start = [0; 256];
    let length = File::open(file).ok()?.read(&mut start).ok()?;
    let line = start[..length].split(|&byte| byte == b'\n').next()?;
    let line = line.strip_prefix(b"#!")?.trim_ascii_start();
    let word = line.split(|&byte| byte == b' ' || byte == b'\t').next()?;
    Some(String::from_utf8_lossy(word).into_owned())
}
