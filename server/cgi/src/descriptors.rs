//! Keeping the server's descriptors from the programs it runs.
#![allow(unsafe_code)]

/// Marks every descriptor above 2 close-on-exec. What is opened later is born so (std and tokio see to it);
/// what a child is meant to have, its spawner duplicates.
pub fn close_on_exec() {
    // SAFETY: changes a flag of descriptors only; nothing is closed here and no memory is touched.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if done != 0 {
        one_by_one();
    }
}

/// For kernels before 5.11.
fn one_by_one() {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    for descriptor in numbers.filter(|&number: &i32| number > 2) {
        // SAFETY: F_SETFD on a number that is not open fails with EBADF and does nothing.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
