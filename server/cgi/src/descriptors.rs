//! Hides the server's descriptors from the programs that it runs.
#![allow(unsafe_code)]

/// Marks every descriptor above 2 close-on-exec. Descriptors opened later have the mark from the
/// start (std and tokio set it). When a program is started, its three descriptors are duplicates
/// without the mark.
pub fn close_on_exec() {
    // SAFETY: changes only a flag of descriptors. Nothing is closed and no memory is touched.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if done != 0 {
        mark_each();
    }
}

/// Marks the descriptors one by one, for kernels before 5.11.
fn mark_each() {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    for descriptor in numbers.filter(|&number: &i32| number > 2) {
        // SAFETY: F_SETFD on a closed descriptor fails with EBADF and does nothing.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
