//! A session of its own for a server, so that what it leaves behind can be found.
#![allow(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::Command;

pub(crate) fn make_own(command: &mut Command) {
    // SAFETY: between fork and exec only setsid is called, which is async-signal-safe and touches
    // no memory of the parent.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
}
