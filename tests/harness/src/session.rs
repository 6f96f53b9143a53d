//! Starts a server in a session of its own, so that its remaining processes can be found, and
//! closes inherited descriptors. The server ends with the thread that has started it, so a killed
//! test run leaves no server.
#![allow(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::Command;

pub(crate) fn make_own(command: &mut Command) {
    // SAFETY: between fork and exec only three system calls run, and they touch no memory of the
    // parent.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::Kill))?;
            // glibc has a function for this call only from version 2.34 on.
            match libc::syscall(
                libc::SYS_close_range,
                3,
                libc::c_uint::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            ) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
}
