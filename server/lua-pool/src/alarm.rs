//! The time limit of a script: a signal that nobody handles, so that neither a loop nor a call that waits survives it.
#![allow(unsafe_code)] // alarm(2)

use std::time::Duration;

/// Ends this process after so long, in whole seconds, at least one.
pub fn set(after: Duration) {
    let seconds = u32::try_from(after.as_secs()).unwrap_or(u32::MAX).max(1);
    // SAFETY: sets a timer of the process, and touches no memory.
    unsafe { libc::alarm(seconds) };
}

pub fn clear() {
    // SAFETY: as above.
    unsafe { libc::alarm(0) };
}
