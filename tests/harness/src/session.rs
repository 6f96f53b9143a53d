//! A session of its own for a server, so that what it leaves behind can be found, and no descriptor
//! of the tester's shell, so that what it hands on is its own. It ends with the thread that started it: a
//! test run that is killed leaves no server.
#![allow(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::Command;

pub(crate) fn make_own(command: &mut Command) {
    // SAFETY: between fork and exec only three system calls are made; they touch no memory of the parent.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::Kill))?;
            match libc::close_range(
                3,
                libc::c_uint::MAX,
                libc::CLOSE_RANGE_CLOEXEC as libc::c_int,
            ) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
}
