//! Has the sampler run at the moment for which it has set its timer, on a machine without an idle
//! core.
//!
//! A late look is a wrong look: the scheduler would run the sampler when it stops the sampled
//! process anyway, so the same places of the code would be seen again and again. Linux 6.12 and
//! newer let a thread with a short slice interrupt a thread with a longer slice at once.
#![allow(unsafe_code)] // sched_setattr(2), sched_getattr(2)

/// This thread has the shortest slice while the value lives.
pub struct Promptness(Option<SchedulingAttributes>);

/// The first version of `struct sched_attr` (sched_setattr(2)).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// The shortest slice that the kernel gives, in nanoseconds.
const SLICE: u64 = 100_000;

impl Promptness {
    /// Asks for the short slice. A kernel that has none ignores the question.
    pub fn new() -> Promptness {
        let before = current().filter(|it| it.policy == libc::SCHED_OTHER as u32);
        if let Some(before) = before {
            set(&SchedulingAttributes {
                runtime: SLICE,
                ..before
            });
        }
        Promptness(before)
    }
}

impl Drop for Promptness {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            set(before);
        }
    }
}

const THIS_THREAD: libc::pid_t = 0;
const NO_FLAGS: libc::c_uint = 0;

fn current() -> Option<SchedulingAttributes> {
    let mut now = SchedulingAttributes::default();
    let size = size_of::<SchedulingAttributes>() as libc::c_uint;
    let into = &raw mut now;
    // SAFETY: the kernel writes at most `size` bytes to `now`, which lives through the call.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, THIS_THREAD, into, size, NO_FLAGS) };
    (got == 0).then_some(now)
}

fn set(attributes: &SchedulingAttributes) {
    let from = std::ptr::from_ref(attributes);
    // SAFETY: the kernel reads `size` bytes of the attributes, which live through the call.
    unsafe { libc::syscall(libc::SYS_sched_setattr, THIS_THREAD, from, NO_FLAGS) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slice_is_short_and_then_as_it_was() {
        let before = current().expect("a kernel with sched_getattr");
        let prompt = Promptness::new();
        let short = current().expect("attributes");
        assert_eq!((short.policy, short.nice), (before.policy, before.nice));
        drop(prompt);
        let after = current().expect("attributes");
        assert_eq!(after.runtime, before.runtime);
    }
}
