//! How the kernel shares the processors between this server and the programs it starts.
//!
//! A program that is woken by its request would have the processor at once, from the server itself where both run on
//! one: for each request the server would stop amid its work, and the program would find nothing more to do than that one.
//! Under SCHED_BATCH (sched(7)) it has the same share and begins when who runs there sleeps or has had its turn.
#![allow(unsafe_code)]

/// Best effort: where it is forbidden the program runs as any other.
pub fn schedule(process: u32) {
    let Ok(process) = libc::pid_t::try_from(process) else {
        return;
    };
    // SAFETY: all zeros are a `sched_param` (other systems have more fields), which the call only reads.
    unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(process, libc::SCHED_BATCH, &parameters);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_and_what_it_starts_wait_for_their_turn() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep is there");
        super::schedule(child.id());
        // SAFETY: only numbers are given and returned.
        let policy = unsafe { libc::sched_getscheduler(child.id() as libc::pid_t) };
        child.kill().expect("it is ours");
        child.wait().expect("it ended");
        assert_eq!(policy, libc::SCHED_BATCH);
    }
}
