//! Computes how fast a client must send a body. A pause may last the body time of
//! `RequestReadTimeout`. The directive's minimum rate limits the time of the whole body.

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

    /// Tracks an upload. `already` bytes of the upload's body have arrived.
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

    /// Returns the time in which the next bytes must arrive. It is at most the body time. The whole
    /// body may take the body time plus the time that the minimum rate grants for the received
    /// bytes.
    pub fn limit(&self, clock: &Clock, limits: &ConnectionLimits) -> Duration {
        let pause = limits.body_timeout;
        let all = limits.body_rate.allowance(pause, self.received);
        let end = self.began.saturating_add(all);
        end.saturating_sub(clock.tick()).min(pause)
    }
}
