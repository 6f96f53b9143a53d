//! Sends messages to a service manager, through systemd's NOTIFY_SOCKET (sd_notify(3)). The
//! variables are removed from the environment, so no worker uses them.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// Sends messages to the service manager. Without a manager it sends nothing.
pub struct Notify {
    socket: Option<UnixDatagram>,
    /// The manager's variables, for the process that replaces this one.
    variables: Vec<(&'static str, String)>,
    /// The manager's time limit between two signs of life (WATCHDOG_USEC).
    watchdog: Option<Duration>,
}

impl Notify {
    /// Reads the variables. Must be called only once, before the server has threads.
    pub fn from_environment() -> Notify {
        let path = std::env::var("NOTIFY_SOCKET").ok();
        let is_ours =
            std::env::var("WATCHDOG_PID").map_or(true, |pid| pid.parse() == Ok(std::process::id()));
        let watchdog = std::env::var("WATCHDOG_USEC").ok();
        let watchdog = watchdog
            .and_then(|text| text.parse().ok())
            .filter(|_| is_ours);
        // The number in WATCHDOG_PID is this process's, so a replacement does not get it.
        let variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC"]
            .into_iter()
            .filter(|name| is_ours || *name == "NOTIFY_SOCKET")
            .filter_map(|name| Some((name, std::env::var(name).ok()?)))
            .collect();
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
            std::env::remove_var(name);
        }
        Notify {
            variables,
            socket: path.and_then(|path| connect(&path).ok()),
            watchdog: watchdog.map(Duration::from_micros),
        }
    }

    pub fn ready(&self) {
        self.say(&format!("READY=1\nMAINPID={}", std::process::id()));
    }

    /// Reports the start of a reload. `ready` must be called at its end.
    pub fn reloading(&self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000;
        self.say(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    }

    /// Returns the variables for the process that replaces this one.
    pub fn variables(&self) -> &[(&'static str, String)] {
        &self.variables
    }

    /// Reports that another process is the server from now on. The manager then accepts that
    /// process's messages and ignores those of this one.
    pub fn replaced_by(&self, pid: u32) {
        self.say(&format!("MAINPID={pid}"));
    }

    pub fn stopping(&self) {
        self.say("STOPPING=1");
    }

    /// Sends signs of life for ever, from the event loop that serves.
    pub async fn keep_alive(&self) {
        let Some(limit) = self.watchdog.filter(|_| self.socket.is_some()) else {
            return;
        };
        loop {
            self.say("WATCHDOG=1");
            tokio::time::sleep(limit / 2).await;
        }
    }

    /// Sends a message. Ignores errors, because the manager may have stopped listening.
    fn say(&self, text: &str) {
        if let Some(socket) = &self.socket {
            let _ = socket.send(text.as_bytes());
        }
    }
}

fn connect(path: &str) -> std::io::Result<UnixDatagram> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    let address = match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(path)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
