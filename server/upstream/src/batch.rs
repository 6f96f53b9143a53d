//! Sets the scheduling policy of programs that this server starts.
//!
//! A request wakes its program. If server and program run on one core, the program would normally
//! interrupt the server in the middle of its work. Under SCHED_BATCH (sched(7)) the program has the
//! same share of the core, but the program starts only when the server sleeps or has used its time
//! slice.
#![allow(unsafe_code)]

/// Sets the policy SCHED_BATCH for a process. If the system forbids this, the process keeps the
/// normal policy.
pub fn schedule(process: u32) {
    let Ok(process) = libc::pid_t::try_from(process) else {
        return;
    };
    // SAFETY: all zeros are a valid `sched_param` (other systems have more fields), which the call
    // only reads.
    unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(process, libc::SCHED_BATCH, &parameters);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_and_its_children_get_the_batch_policy() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep is there");
        super::schedule(child.id());
        // SAFETY: the call takes and returns only numbers.
        let policy = unsafe { libc::sched_getscheduler(child.id() as libc::pid_t) };
        child.kill().expect("it is ours");
        child.wait().expect("it ended");
        assert_eq!(policy, libc::SCHED_BATCH);
    }
}
