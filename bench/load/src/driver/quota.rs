//! Divides the plan's arrivals among the threads without a shared counter for each request. In a
//! closed loop each thread claims arrivals in chunks. In an open loop each thread has its part from
//! the start.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

pub struct Quota {
    total: Option<u64>,
    threads: usize,
    left: Arc<AtomicU64>,
}

/// One thread's access to the quota.
pub struct Share {
    left: Option<Arc<AtomicU64>>,
    chunk: u64,
    held: u64,
    /// The arrivals of this thread's own part that are left, for an open loop.
    pub dealt: u64,
}

impl Quota {
    pub fn new(total: Option<u64>, threads: usize) -> Quota {
        Quota {
            total,
            threads,
            left: Arc::new(AtomicU64::new(total.unwrap_or(0))),
        }
    }

    pub fn share(&self, thread: usize) -> Share {
        let (thread, threads) = (thread as u64, self.threads as u64);
        let Some(total) = self.total else {
            return Share {
                left: None,
                chunk: 0,
                held: 0,
                dealt: u64::MAX,
            };
        };
        Share {
            left: Some(Arc::clone(&self.left)),
            chunk: (total / (threads * 64)).clamp(1, 256),
            held: 0,
            dealt: (total + threads - 1 - thread) / threads,
        }
    }
}

impl Share {
    /// Claims one arrival for a closed loop. Returns false if all arrivals are claimed.
    pub fn claim(&mut self) -> bool {
        let Some(left) = &self.left else { return true };
        if self.held == 0 {
            let chunk = self.chunk;
            let before = left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    Some(left.saturating_sub(chunk))
                })
                .unwrap_or(0);
            self.held = before.min(chunk);
        }
        let granted = self.held > 0;
        self.held -= u64::from(granted);
        granted
    }

    /// Claims one arrival of this thread's own part. Returns false if the part is used up.
    pub fn claim_dealt(&mut self) -> bool {
        let granted = self.dealt > 0;
        self.dealt -= u64::from(granted && self.left.is_some());
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arrival_is_claimed_once() {
        for (total, threads) in [(1, 1), (7, 3), (1000, 4), (100_000, 2)] {
            let quota = Quota::new(Some(total), threads);
            let mut shares: Vec<Share> = (0..threads).map(|thread| quota.share(thread)).collect();
            let dealt: u64 = shares.iter().map(|share| share.dealt).sum();
            assert_eq!(dealt, total);
            let mut claimed = 0;
            while shares
                .iter_mut()
                .map(Share::claim)
                .filter(|granted| *granted)
                .count()
                > 0
            {
                claimed += 1;
            }
            assert!(claimed <= total);
            let mut counted = 0u64;
            let quota = Quota::new(Some(total), threads);
            for mut share in (0..threads).map(|thread| quota.share(thread)) {
                while share.claim() {
                    counted += 1;
                }
            }
            assert_eq!(counted, total);
        }
    }
}
