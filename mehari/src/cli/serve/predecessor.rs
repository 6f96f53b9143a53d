//! The server that this process replaces in an upgrade (`upgrade.rs` has the other side).
//!
//! The two processes speak in lines over a socket. This process says `ready`, or `failed REASON`.
//! The predecessor answers `go`. This process takes the control socket and says `serving`: the
//! predecessor accepts no connection from then on. Until it ends it says what it still has: `left
//! CONNECTIONS REQUESTS`.

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::os::unix::net::UnixStream as StdStream;
use std::rc::Rc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;

/// The channel to the predecessor, until this process takes over.
pub struct Predecessor(RefCell<Option<StdStream>>);

impl Predecessor {
    pub fn new(channel: StdStream) -> Predecessor {
        Predecessor(RefCell::new(Some(channel)))
    }

    /// Reports why this process does not start. Ignores errors, because the reason is on stderr,
    /// too.
    pub fn report_failure(&self, reason: &str) {
        let reason = reason.trim_end().replace('\n', "\t");
        if let Some(channel) = &mut *self.0.borrow_mut() {
            let _ = channel.write_all(format!("failed {reason}\n").as_bytes());
        }
    }

    /// Reports that this process can serve, and waits for the word to do so.
    ///
    /// # Errors
    /// The predecessor has ended or has changed its mind. This process must then end too, because
    /// someone has ended the server.
    pub async fn take_over(&self) -> Result<Leaving, String> {
        let failed = |error: std::io::Error| format!("the running server: {error}");
        let channel = self.0.take().ok_or("the channel was used before")?;
        channel.set_nonblocking(true).map_err(failed)?;
        let pid = channel_peer(&channel).map_err(failed)?;
        let mut channel = UnixStream::from_std(channel).map_err(failed)?;
        channel.write_all(b"ready\n").await.map_err(failed)?;
        let mut lines = BufReader::new(channel).lines();
        match lines.next_line().await.map_err(failed)?.as_deref() {
            Some("go") => Ok(Leaving { pid, lines }),
            _ => Err("the running server ended before it was replaced".into()),
        }
    }
}

fn channel_peer(channel: &StdStream) -> std::io::Result<i32> {
    let peer = rustix::net::sockopt::get_socket_peercred(channel)?;
    Ok(peer.pid.as_raw_nonzero().get())
}

/// The predecessor while it finishes its requests.
pub struct Leaving {
    pid: i32,
    lines: Lines<BufReader<UnixStream>>,
}

/// What the predecessor still has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Left {
    pub pid: i32,
    pub open_connections: u64,
    pub active_requests: u64,
}

/// The last message of the predecessor. `None`: there is no predecessor any more.
pub type LeftCell = Rc<Cell<Option<Left>>>;

impl Leaving {
    /// Reports that this process serves and has the control socket. Ignores errors, because a
    /// predecessor that has ended needs no report.
    pub async fn report_serving(&mut self) {
        let channel = self.lines.get_mut().get_mut();
        let _ = channel.write_all(b"serving\n").await;
    }

    /// Reads the predecessor's messages until it ends.
    pub async fn follow(mut self, left: LeftCell) {
        let mut now = Left {
            pid: self.pid,
            open_connections: 0,
            active_requests: 0,
        };
        left.set(Some(now));
        while let Ok(Some(line)) = self.lines.next_line().await {
            let mut words = line.split(' ').skip(1).map(str::parse);
            if let (Some(Ok(connections)), Some(Ok(requests))) = (words.next(), words.next()) {
                (now.open_connections, now.active_requests) = (connections, requests);
                left.set(Some(now));
            }
        }
        left.set(None);
    }
}
