//! The program of a zygote: what it is started with, how it is started, and signals to processes.
//! The front and the launchers use this module.
#![allow(unsafe_code)] // descriptors handed to a child; signals to a process group

use crate::perl_side::PerlSide;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::{fcntl_setfd, FdFlags};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// What a zygote is started with. The launcher adds the folders of the Perl side and the numbers of
/// the descriptors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ZygoteCommand {
    pub interpreter: OsString,
    pub switches: Vec<OsString>,
    /// The arguments of `Mehari::Zygote::run` behind the descriptors.
    pub arguments: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
}

impl ZygoteCommand {
    /// Returns the command as text: words that end with NUL. A word that is a number says how many
    /// words follow.
    pub fn encode(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut put = |word: &OsStr| {
            text.extend_from_slice(word.as_bytes());
            text.push(0);
        };
        let count = |list: usize| OsString::from(list.to_string());
        put(&self.interpreter);
        for list in [&self.switches, &self.arguments] {
            put(&count(list.len()));
            list.iter().for_each(|word| put(word));
        }
        put(&count(self.environment.len()));
        for (name, value) in &self.environment {
            put(name);
            put(value);
        }
        text
    }

    /// Returns `None` if the text is not one of [`ZygoteCommand::encode`].
    pub fn decode(text: &[u8]) -> Option<ZygoteCommand> {
        let text = text.strip_suffix(b"\0")?;
        let mut words = text.split(|byte| *byte == 0);
        let mut word = || words.next().map(|word| OsString::from_vec(word.to_vec()));
        let count = |word: Option<OsString>| word?.to_str()?.parse::<usize>().ok();
        let interpreter = word()?;
        let mut list = || -> Option<Vec<OsString>> {
            let number = count(word())?;
            (0..number).map(|_| word()).collect()
        };
        let (switches, arguments) = (list()?, list()?);
        let number = count(word())?;
        let pairs = (0..number).map(|_| Some((word()?, word()?)));
        let environment = pairs.collect::<Option<_>>()?;
        word().is_none().then_some(ZygoteCommand {
            interpreter,
            switches,
            arguments,
            environment,
        })
    }
}

/// Starts a zygote that inherits three descriptors. `spawn` starts the prepared program.
pub fn start_program<T>(
    command: &ZygoteCommand,
    perl: &PerlSide,
    inherited: &[OwnedFd; 3],
    stderr: Stdio,
    spawn: impl FnOnce(Command) -> io::Result<T>,
) -> io::Result<T> {
    let mut program = Command::new(&command.interpreter);
    program
        .args(with_folders(&command.switches, perl))
        .args(["-MMehari::Zygote", "-e", "Mehari::Zygote::run(@ARGV)"])
        .args(inherited.iter().map(|file| file.as_raw_fd().to_string()))
        .args(&command.arguments)
        .env_clear()
        .envs(command.environment.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(stderr)
        .process_group(0);
    keep_descriptors_from_programs();
    // Without close-on-exec the three descriptors survive the exec. The zygote sets close-on-exec
    // again at once. Only one thread of the process starts programs, so no other child inherits
    // them.
    for file in inherited {
        fcntl_setfd(file, FdFlags::empty())?;
    }
    spawn(program)
}

/// Sets close-on-exec on the descriptors that the process that started the server left open. A
/// script must not get these descriptors, and no process with a foreign pipe or socket can be
/// rewound. A kernel before 5.11 refuses the call. In this case the descriptors are passed on.
fn keep_descriptors_from_programs() {
    let (first, last) = (3, libc::c_uint::MAX);
    // SAFETY: the call touches no memory. It only sets close-on-exec.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            last,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
}

/// Returns the switches with the folders of Mehari's Perl side and of the server's PERL5LIB.
pub fn with_folders(switches: &[OsString], perl: &PerlSide) -> Vec<OsString> {
    let own = std::env::var_os("PERL5LIB").unwrap_or_default();
    let of_the_server = std::env::split_paths(&own).filter(|folder| !folder.as_os_str().is_empty());
    let folders = perl.folders.iter().cloned().chain(of_the_server);
    let included = folders.map(|folder| {
        let mut switch = OsString::from("-I");
        switch.push(folder);
        switch
    });
    switches.iter().cloned().chain(included).collect()
}

/// Sends a signal to one process. Signal 0 only tests whether the process exists. Returns false if
/// the process does not exist. A process of another user exists, and gets no signal.
pub fn kill_one(pid: u32, signal: i32) -> bool {
    match i32::try_from(pid) {
        Ok(pid) if pid > 1 => {
            // SAFETY: kill touches no memory of ours.
            let is_sent = unsafe { libc::kill(pid, signal) == 0 };
            is_sent || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
        }
        _ => false,
    }
}

/// Sends a signal to a worker and to the processes it started that stayed in its group.
pub fn kill_group(pid: u32, signal: i32) {
    let Ok(pid) = i32::try_from(pid) else { return };
    if pid > 1 {
        // SAFETY: kill touches no memory of ours.
        unsafe { libc::kill(-pid, signal) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_as_it_was_written_and_nothing_else_is_read() {
        let command = ZygoteCommand {
            interpreter: "/usr/bin/perl".into(),
            switches: vec!["-w".into(), "-I/srv/a b".into()],
            arguments: vec!["host".into(), "".into(), "9".into()],
            environment: vec![("A".into(), "".into()), ("B".into(), "x=y\n".into())],
        };
        let text = command.encode();
        assert_eq!(ZygoteCommand::decode(&text), Some(command));
        for end in 0..text.len() {
            assert_eq!(ZygoteCommand::decode(&text[..end]), None, "{end}");
        }
        let mut longer = text.clone();
        longer.extend_from_slice(b"more\0");
        assert_eq!(ZygoteCommand::decode(&longer), None);
        assert_eq!(ZygoteCommand::decode(b"perl\099999999999\0"), None);
    }
}
