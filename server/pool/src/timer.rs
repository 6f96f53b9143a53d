//! Makes pauses that are shorter than a millisecond, the resolution of the runtime's timer.

use crate::readiness::readable;
use rustix::fd::OwnedFd;
use rustix::io::{read, Errno};
use rustix::time::{
    timerfd_create, timerfd_settime, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags,
    Timespec,
};
use std::io;
use std::time::Duration;
use tokio::io::unix::AsyncFd;

pub struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    pub fn create() -> io::Result<Timer> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let file = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Timer(readable(file)?))
    }

    /// Waits for this time. The wait costs two system calls and one turn of the event loop.
    pub async fn pause(&self, length: Duration) -> io::Result<()> {
        let nothing = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let once = Itimerspec {
            it_interval: nothing,
            it_value: Timespec {
                tv_sec: length.as_secs() as _,
                // A length of zero would disarm the timer.
                tv_nsec: length.subsec_nanos().max(1) as _,
            },
        };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        loop {
            let mut ready = self.0.readable().await?;
            match read(ready.get_inner(), &mut [0; 8]) {
                Ok(_) => return Ok(()),
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[tokio::test]
    async fn pauses_are_as_short_as_asked_for() {
        let timer = Timer::create().expect("a timer");
        let mut shortest = Duration::MAX;
        for length in [Duration::ZERO, Duration::from_micros(100)].repeat(20) {
            let begin = Instant::now();
            timer.pause(length).await.expect("a pause");
            let took = begin.elapsed();
            assert!(took >= length);
            shortest = shortest.min(took.saturating_sub(length));
        }
        assert!(shortest < Duration::from_micros(900), "{shortest:?}");
    }
}
