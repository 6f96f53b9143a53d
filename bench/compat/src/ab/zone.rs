//! Asks the C library for the local time. The column `starttime` of the `-g` file needs it. None of
//! the crates in use can read the time zone in a process with threads.
#![allow(unsafe_code)]

/// Returns the local calendar time of `seconds` since 1970; all fields are zero if the library
/// fails.
pub fn broken_down(seconds: i64) -> libc::tm {
    // SAFETY: `tm` is a plain C structure, and all zeros are a valid value.
    let mut time: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers refer to live local variables, and `localtime_r` keeps neither.
    unsafe { libc::localtime_r(&seconds, &mut time) };
    time
}
