//! The pace that a client must keep while it sends a body: no pause beyond `RequestReadTimeout`'s
//! body time, and not so few bytes that one request lasts for hours.

use crate::shared::uploads::Upload;
use mehari_config::ConnectionLimits;
use mehari_net::clock::Clock;
use std::rc::Rc;
use std::time::Duration;

#[derive(Default)]
pub struct Pace {
    began: Duration,
    received: u64,
    /// The upload, if its progress can be queried.
    upload: Option<Rc<Upload>>,
}

impl Pace {
    pub fn begin(clock: &Clock) -> Pace {
        Pace {
            began: clock.tick(),
            received: 0,
            upload: None,
        }
    }

    /// `already` bytes of the body have arrived.
    pub fn tracking(mut self, upload: Option<Rc<Upload>>, already: usize) -> Pace {
        self.upload = upload;
        if let Some(upload) = &self.upload {
            upload.count(already);
        }
        self
    }

    pub fn count(&mut self, bytes: usize) {
        self.received += bytes as u64;
        if let Some(upload) = &self.upload {
            upload.count(bytes);
        }
    }

    /// The deadline for the next bytes: at most the body's time, and in all at most that time plus
    /// what the rate has earned.
    pub fn limit(&self, clock: &Clock, limits: &ConnectionLimits) -> Duration {
        let pause = limits.body_timeout;
        let all = limits.body_rate.allowance(pause, self.received);
        let end = self.began.saturating_add(all);
        end.saturating_sub(clock.tick()).min(pause)
    }
}
