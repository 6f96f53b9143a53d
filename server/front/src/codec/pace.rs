//! The pace a client must keep while it sends a body: neither a pause beyond `RequestReadTimeout`'s
//! body time, nor so few bytes at a time that one request lasts for hours.

use crate::shared::uploads::Upload;
use mehari_config::ConnectionLimits;
use mehari_net::clock::Clock;
use std::rc::Rc;
use std::time::Duration;

#[derive(Default)]
pub struct Pace {
    began: Duration,
    received: u64,
    /// Somebody may ask how far it is.
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

    /// `already` bytes of the body have come.
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

    /// How long the next bytes may take: no longer than the body's time, and in all no longer than that and
    /// what its rate has bought.
    pub fn limit(&self, clock: &Clock, limits: &ConnectionLimits) -> Duration {
        let pause = limits.body_timeout;
        let all = limits.body_rate.allowance(pause, self.received);
        let end = self.began.saturating_add(all);
        end.saturating_sub(clock.tick()).min(pause)
    }
}
