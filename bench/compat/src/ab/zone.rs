//! Local time by the C library, for the one column of `-g` that shows it. No crate at hand reads the zone
//! in a process that may have threads.
#![allow(unsafe_code)]

/// Seconds since 1970 as the local calendar has them; the epoch itself where the library cannot say.
pub fn broken_down(seconds: i64) -> libc::tm {
    // SAFETY: `tm` is a plain C structure for which all zeros is a value.
    let mut time: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals; `localtime_r` keeps neither.
    unsafe { libc::localtime_r(&seconds, &mut time) };
    time
}
