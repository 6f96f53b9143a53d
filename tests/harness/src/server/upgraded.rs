//! Follows a server through an upgrade: another process is then the server.

use super::Server;
use crate::processes::{is_alive, Pid};
use crate::{eventually, PATIENCE};

impl Server {
    /// Waits until an upgrade has replaced the server's process and the old process has ended. All
    /// methods then speak of the new process.
    #[track_caller]
    pub fn follow_upgrade(&mut self) {
        let before = self.pid();
        let mut now = before;
        let is_replaced = eventually(PATIENCE, || {
            now = self.serving_pid().unwrap_or(before);
            now != before
        });
        assert!(
            is_replaced,
            "no process replaced {before}:\n{}",
            self.log.text()
        );
        self.successor = Some(now);
        self.upgrades += 1;
        let has_ended = eventually(PATIENCE, || {
            // The first process is a child of the test and stays a zombie until the test asks.
            let _ = self.child.try_wait();
            !is_alive(before)
        });
        assert!(has_ended, "{before} did not end:\n{}", self.log.text());
    }

    /// Returns the process that answers at the control socket.
    fn serving_pid(&self) -> Option<Pid> {
        let output = self.control(&["status", "--json"]);
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        status["pid"].as_i64()?.try_into().ok()
    }

    /// Waits for the process that has replaced the first one to end by itself. Returns whether the
    /// process has ended.
    pub fn successor_ends(&mut self) -> bool {
        let successor = self.successor;
        self.stopped = eventually(PATIENCE, || !successor.is_some_and(is_alive));
        self.stopped
    }
}
