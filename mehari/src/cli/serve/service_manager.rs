//! Takes sockets from a service manager and sends messages to it.
//!
//! The supported variables are systemd's LISTEN_FDS and NOTIFY_SOCKET (sd_listen_fds(3),
//! sd_notify(3)) and SERVER_STARTER_PORT of Perl's Server::Starter. They are removed from the
//! environment, so no worker uses them.
#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// The first inherited descriptor.
const FIRST: RawFd = 3;
/// The most inherited descriptors. A larger number in LISTEN_FDS is refused as a mistake.
const MOST: usize = 256;

/// A socket that was open when the server started.
pub struct Inherited {
    pub socket: OwnedFd,
    /// The name that the service manager gave the socket (FileDescriptorName=). `https` means TLS.
    pub name: String,
}

/// Returns whether the environment supplies sockets. If so, the default address is not used.
pub fn supplies_sockets() -> bool {
    std::env::var_os("SERVER_STARTER_PORT").is_some() || is_for_us()
}

fn is_for_us() -> bool {
    let pid = std::env::var("LISTEN_PID").ok();
    pid.and_then(|pid| pid.parse().ok()) == Some(std::process::id())
}

/// Takes the sockets. Must be called only once, before the server has threads.
pub fn sockets() -> Result<Vec<Inherited>, String> {
    let mut wanted: Vec<(RawFd, String)> = Vec::new();
    if is_for_us() {
        let count = std::env::var("LISTEN_FDS").unwrap_or_default();
        let count: usize = count
            .parse()
            .ok()
            .filter(|count| *count <= MOST)
            .ok_or_else(|| format!("LISTEN_FDS is `{count}`; expected a number up to {MOST}"))?;
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':');
        wanted.extend((0..count).map(|at| {
            let name = names.next().unwrap_or_default();
            (FIRST + at as RawFd, name.to_string())
        }));
    }
    if let Ok(text) = std::env::var("SERVER_STARTER_PORT") {
        for pair in text.split(';').filter(|pair| !pair.is_empty()) {
            let number = pair
                .rsplit_once('=')
                .and_then(|(_, number)| number.parse().ok());
            let number = number.filter(|number| *number >= FIRST).ok_or_else(|| {
                format!("SERVER_STARTER_PORT has `{pair}`; expected ADDRESS=DESCRIPTOR")
            })?;
            wanted.push((number, String::new()));
        }
    }
    for name in [
        "LISTEN_PID",
        "LISTEN_FDS",
        "LISTEN_FDNAMES",
        "SERVER_STARTER_PORT",
    ] {
        std::env::remove_var(name);
    }
    wanted
        .into_iter()
        .map(|(number, name)| take(number, name))
        .collect()
}

fn take(number: RawFd, name: String) -> Result<Inherited, String> {
    // SAFETY: the call only reads the descriptor's flags.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    if flags < 0 {
        return Err(format!(
            "descriptor {number}, an inherited socket, is not open"
        ));
    }
    // SAFETY: the descriptor is open, was passed to this process, and is taken once, because the
    // variables that name it are removed.
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    let kept = rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC);
    kept.map_err(|error| format!("descriptor {number}: {error}"))?;
    match rustix::net::sockopt::get_socket_type(&socket) {
        Ok(rustix::net::SocketType::STREAM) => Ok(Inherited { socket, name }),
        _ => Err(format!("descriptor {number} is not a stream socket")),
    }
}

/// Sends messages to the service manager. Without a manager it sends nothing.
pub struct Notify {
    socket: Option<UnixDatagram>,
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
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
            std::env::remove_var(name);
        }
        Notify {
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
