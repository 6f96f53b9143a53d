//! Local time by the C library, for the single column of `-g` that shows it. No crate in use reads
//! the time zone in a process that may have threads.
#![allow(unsafe_code)]

/// Returns the local calendar time of `seconds` since 1970; the zero time if the library fails.
pub fn broken_down(seconds: i64) -> libc::tm {
    // SAFETY: `tm` is a plain C structure, and all zeros are a valid value.
    let mut time: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers refer to live local variables, and `localtime_r` keeps neither.
    unsafe { libc::localtime_r(&seconds, &mut time) };
    time
}
