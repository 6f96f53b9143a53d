//! The state of back ends, as `mehari status` shows it.

use crate::group::Group;
use crate::member::Member;
use mehari_config::Standing;
use serde::Serialize;
use tokio::time::Instant;

#[derive(Debug, Clone, Serialize)]
pub struct GroupStatus {
    pub name: String,
    pub method: &'static str,
    /// The number of requests that wait for a member.
    pub waiting: usize,
    pub members: Vec<MemberStatus>,
}

#[derive(Debug, Clone, Serialize)]
pub struct MemberStatus {
    pub name: String,
    /// The state: `up`, `down`, `unwell`, `disabled`, `draining` or `spare`.
    pub state: &'static str,
    pub active_requests: usize,
    pub idle: usize,
    pub requests: u64,
    pub failed: u64,
    /// The number of connections opened so far.
    pub connections: u64,
    /// The mean time to the head of a response, in microseconds.
    pub mean_us: u64,
    /// The time until the next test in milliseconds.
    pub retry_ms: u64,
}

impl Group {
    pub fn status(&self) -> GroupStatus {
        let members = self.members.borrow();
        GroupStatus {
            name: self.name.clone(),
            method: self.settings().method.name(),
            waiting: self.queue.length(),
            members: members.iter().map(|member| member.status()).collect(),
        }
    }
}

impl Member {
    fn status(&self) -> MemberStatus {
        let now = Instant::now();
        let state = match self.standing() {
            Standing::Disabled => "disabled",
            Standing::Draining => "draining",
            _ if self.unwell.get() => "unwell",
            _ if self.is_failing() => "down",
            Standing::HotSpare => "spare",
            Standing::Enabled => "up",
        };
        MemberStatus {
            name: self.name.clone(),
            state,
            active_requests: self.active_requests.get(),
            idle: self.idle(),
            requests: self.requests.get(),
            failed: self.failed.get(),
            connections: self.connections.get(),
            mean_us: (self.mean() * 1e6) as u64,
            retry_ms: if self.is_failing() {
                self.time_to_next_test(now).as_millis() as u64
            } else {
                0
            },
        }
    }
}
