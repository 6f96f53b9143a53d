//! Limits the time of a script with alarm(2). No handler catches the signal, so it ends both loops
//! and blocking calls.
#![allow(unsafe_code)] // alarm(2)

use std::time::Duration;

/// Lets the kernel end this process after `after`, rounded down to whole seconds, but at least one
/// second.
pub fn set(after: Duration) {
    let seconds = u32::try_from(after.as_secs()).unwrap_or(u32::MAX).max(1);
    // SAFETY: the call sets a timer of the process and touches no memory.
    unsafe { libc::alarm(seconds) };
}

pub fn clear() {
    // SAFETY: the call clears a timer of the process and touches no memory.
    unsafe { libc::alarm(0) };
}
