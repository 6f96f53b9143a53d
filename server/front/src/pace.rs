//! The pace a client must keep while it sends a body: neither a pause beyond `RequestReadTimeout`'s
//! body time, nor so few bytes at a time that one request lasts for hours.

use crate::clock::Clock;
use crate::uploads::Upload;
use std::rc::Rc;
use std::time::Duration;

/// Bytes that buy another second, as `MinRate=500` of Apache's `RequestReadTimeout`.
const BYTES_PER_SECOND: u64 = 500;

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

    /// How long the next bytes may take: `pause`, but in all no more than `pause` and a second for
    /// each `BYTES_PER_SECOND` bytes that came.
    pub fn limit(&self, clock: &Clock, pause: Duration) -> Duration {
        let bought = Duration::from_millis(self.received.saturating_mul(1000) / BYTES_PER_SECOND);
        let end = self.began.saturating_add(pause).saturating_add(bought);
        end.saturating_sub(clock.tick()).min(pause)
    }
}
