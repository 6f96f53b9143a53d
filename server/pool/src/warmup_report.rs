//! What a warm-up (`ZygoteWarmup`) has brought, for the log and `mehari status`.

use crate::memory::mib;

/// What a warm-up has brought.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct WarmupReport {
    pub requests: u32,
    /// Requests that Perl did not answer, or answered with a status from 400 on.
    pub failed: u32,
    /// Microseconds that the requests of the first round took.
    pub first_us: u64,
    /// Microseconds that the requests of the last round took.
    pub last_us: u64,
    /// The bytes by which the zygote's memory has grown. All workers share them.
    pub memory: u64,
}

impl std::fmt::Display for WarmupReport {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = |us: u64| us as f64 / 1000.0;
        write!(
            out,
            "{} requests ran before the first fork: the first round took {:.1} ms, the last one \
             {:.1} ms; workers share the {} that they have added",
            self.requests,
            ms(self.first_us),
            ms(self.last_us),
            mib(self.memory)
        )
    }
}
