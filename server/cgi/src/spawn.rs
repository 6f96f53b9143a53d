//! Starts the process of a program, and leaves SIGPIPE ignored in it, as Apache's mod_cgi does: a
//! program that writes to a process that has ended gets an error and goes on.
//!
//! [`std::process::Command`] would reset the signal. Its command is therefore only the description
//! of the process here, and `posix_spawn` starts the process.
#![allow(unsafe_code)]

use super::process_limits::{self, ResourceLimit};
use rustix::pipe::{pipe_with, PipeFlags};
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::ptr;

/// What a process is made of.
pub struct Launch {
    /// The file, the arguments, the environment and the folder. All are absolute and complete.
    pub command: Command,
    pub stdin: OwnedFd,
    pub limits: Vec<ResourceLimit>,
}

/// A process that has started. It leads its own process group.
pub struct Process {
    pub pid: u32,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// Starts the process.
pub fn spawn(launch: &mut Launch) -> io::Result<Process> {
    let (stdout, out) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, err) = pipe_with(PipeFlags::CLOEXEC)?;
    let pid = if launch.limits.is_empty() {
        at_once(&launch.command, [&launch.stdin, &out, &err])?
    } else {
        limited(launch, out, err)?
    };
    Ok(Process {
        pid,
        stdout,
        stderr,
    })
}

/// Starts a process by fork and exec, because limits can only be set in between.
fn limited(launch: &mut Launch, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<u32> {
    let command = &mut launch.command;
    command
        .stdin(Stdio::from(launch.stdin.try_clone()?))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .process_group(0);
    process_limits::set(command, launch.limits.clone());
    // The keeper reaps the process by its number.
    command.spawn().map(|child| child.id())
}

fn variables(command: &Command) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)))
}

/// Starts a process by `posix_spawn`, which copies no memory of the server.
fn at_once(command: &Command, files: [&OwnedFd; 3]) -> io::Result<u32> {
    let program = text(command.get_program())?;
    let arguments = Texts::of(std::iter::once(command.get_program()).chain(command.get_args()))?;
    let lines: Vec<_> = variables(command)
        .map(|(name, value)| [name, OsStr::new("="), value].join(OsStr::new("")))
        .collect();
    let environment = Texts::of(lines.iter().map(|line| line.as_os_str()))?;
    let actions = Actions::new(command, files)?;
    let attributes = Attributes::new()?;
    let mut pid = 0;
    // SAFETY: all pointers are to values that live until the end of the call. Both lists end with
    // NULL.
    checked(unsafe {
        libc::posix_spawn(
            &mut pid,
            program.as_ptr(),
            &actions.0,
            &attributes.0,
            arguments.pointers.as_ptr(),
            environment.pointers.as_ptr(),
        )
    })?;
    u32::try_from(pid).map_err(io::Error::other)
}

fn text(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

fn checked(error: libc::c_int) -> io::Result<()> {
    match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// A list of texts as C functions take it.
struct Texts {
    pointers: Vec<*mut libc::c_char>,
    _texts: Vec<CString>,
}

impl Texts {
    fn of<'a>(texts: impl Iterator<Item = &'a OsStr>) -> io::Result<Texts> {
        let texts: Vec<_> = texts.map(text).collect::<io::Result<_>>()?;
        let pointers = texts.iter().map(|text| text.as_ptr().cast_mut());
        Ok(Texts {
            pointers: pointers.chain([ptr::null_mut()]).collect(),
            _texts: texts,
        })
    }
}

/// What the process does before the program begins: it takes its descriptors and enters its folder.
struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new(command: &Command, files: [&OwnedFd; 3]) -> io::Result<Actions> {
        // SAFETY: the structure is plain data, and the next call sets it.
        let mut actions = Actions(unsafe { std::mem::zeroed() });
        // SAFETY: the pointer is to a live structure.
        checked(unsafe { libc::posix_spawn_file_actions_init(&mut actions.0) })?;
        for (number, file) in (0..).zip(files) {
            let file = file.as_raw_fd();
            // SAFETY: as above. The numbers are only stored.
            let added =
                unsafe { libc::posix_spawn_file_actions_adddup2(&mut actions.0, file, number) };
            checked(added)?;
        }
        if let Some(folder) = command.get_current_dir() {
            let folder = text(folder.as_os_str())?;
            // SAFETY: as above. The function copies the text.
            let added = unsafe {
                libc::posix_spawn_file_actions_addchdir_np(&mut actions.0, folder.as_ptr())
            };
            checked(added)?;
        }
        Ok(actions)
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: `new` has set the structure, and nothing uses it later.
        unsafe { libc::posix_spawn_file_actions_destroy(&mut self.0) };
    }
}

/// The process leads a new process group.
struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> io::Result<Attributes> {
        // SAFETY: the structure is plain data, and the next call sets it.
        let mut attributes = Attributes(unsafe { std::mem::zeroed() });
        // SAFETY: the pointer is to a live structure. Without `posix_spawnattr_setpgroup` the group
        // is 0, which means a new one.
        unsafe {
            checked(libc::posix_spawnattr_init(&mut attributes.0))?;
            let flags = libc::POSIX_SPAWN_SETPGROUP as libc::c_short;
            checked(libc::posix_spawnattr_setflags(&mut attributes.0, flags))?;
        }
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: `new` has set the structure, and nothing uses it later.
        unsafe { libc::posix_spawnattr_destroy(&mut self.0) };
    }
}
