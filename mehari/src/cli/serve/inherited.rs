//! Takes sockets that were open when the server started: those of a service manager, and those of
//! the running server that this process replaces (`upgrade.rs`).
//!
//! The supported variables are systemd's LISTEN_FDS (sd_listen_fds(3)), SERVER_STARTER_PORT of
//! Perl's Server::Starter, and our own MEHARI_UPGRADE. They are removed from the environment, so no
//! worker uses them.
#![allow(unsafe_code)]

use rustix::net::{sockopt, SocketType};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// The variable with the sockets of the running server: `KIND=DESCRIPTOR` with `;` between them.
pub const UPGRADE: &str = "MEHARI_UPGRADE";
/// The first descriptor of LISTEN_FDS.
const FIRST: RawFd = 3;
/// The most inherited descriptors. A larger number in LISTEN_FDS is refused as a mistake.
const MOST: usize = 256;

/// Who opened a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    /// A service manager. The server serves the socket even without a `Listen` for it.
    Manager { secure: bool },
    /// A server, for a `Listen` of its configuration.
    Listen,
}

impl Opener {
    const ALL: [Opener; 3] = [
        Opener::Manager { secure: false },
        Opener::Manager { secure: true },
        Opener::Listen,
    ];

    /// Returns the opener with this word in [`UPGRADE`].
    pub fn named(word: &str) -> Option<Opener> {
        Opener::ALL.into_iter().find(|one| one.word() == word)
    }

    /// Returns the word for this opener in [`UPGRADE`].
    pub fn word(self) -> &'static str {
        match self {
            Opener::Manager { secure: false } => "given",
            Opener::Manager { secure: true } => "given-https",
            Opener::Listen => "listen",
        }
    }
}

/// The word in [`UPGRADE`] for the channel between the two servers.
pub const CHANNEL: &str = "channel";

/// A listening socket that was open when the server started.
pub struct Inherited {
    pub socket: OwnedFd,
    pub opener: Opener,
}

/// All sockets that were open when the server started.
#[derive(Default)]
pub struct Inheritance {
    pub sockets: Vec<Inherited>,
    /// The channel to the server that this process replaces.
    pub channel: Option<UnixStream>,
}

impl Inheritance {
    /// Takes the sockets. Must be called only once, before the server has threads.
    pub fn take() -> Result<Inheritance, String> {
        let read = |name: &str| std::env::var(name).ok();
        let mut all = Inheritance::default();
        let wanted = listen_fds().and_then(|mut wanted| {
            if let Some(text) = read("SERVER_STARTER_PORT") {
                let all = pairs("SERVER_STARTER_PORT", "ADDRESS", &text)?;
                let plain = Opener::Manager { secure: false };
                wanted.extend(all.into_iter().map(|(_, number)| (number, plain)));
            }
            Ok(wanted)
        });
        let handed = read(UPGRADE).map_or(Ok(Vec::new()), |text| pairs(UPGRADE, "KIND", &text));
        for name in [
            "LISTEN_PID",
            "LISTEN_FDS",
            "LISTEN_FDNAMES",
            "SERVER_STARTER_PORT",
            UPGRADE,
        ] {
            std::env::remove_var(name);
        }
        for (number, opener) in wanted? {
            all.sockets.push(listening(number, opener)?);
        }
        for (word, number) in handed? {
            if word == CHANNEL {
                all.channel = Some(UnixStream::from(open(number)?));
                continue;
            }
            let opener = Opener::named(&word).ok_or_else(|| {
                format!("{UPGRADE} has `{word}`; expected listen, given, given-https or {CHANNEL}")
            })?;
            all.sockets.push(listening(number, opener)?);
        }
        Ok(all)
    }

    /// Whether a service manager has opened a socket. If so, the default address is not used.
    pub fn has_manager(&self) -> bool {
        let is_managers = |one: &Inherited| one.opener != Opener::Listen;
        self.sockets.iter().any(is_managers)
    }
}

fn listen_fds() -> Result<Vec<(RawFd, Opener)>, String> {
    let pid = std::env::var("LISTEN_PID").ok();
    if pid.and_then(|pid| pid.parse().ok()) != Some(std::process::id()) {
        return Ok(Vec::new());
    }
    let count = std::env::var("LISTEN_FDS").unwrap_or_default();
    let count: usize = count
        .parse()
        .ok()
        .filter(|count| *count <= MOST)
        .ok_or_else(|| format!("LISTEN_FDS is `{count}`; expected a number up to {MOST}"))?;
    // The service manager may name each socket (FileDescriptorName=). `https` means TLS.
    let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    let one = |at: usize| {
        let secure = names.next() == Some("https");
        (FIRST + at as RawFd, Opener::Manager { secure })
    };
    Ok((0..count).map(one).collect())
}

/// Parses `NAME=DESCRIPTOR` with `;` between the pairs.
fn pairs(variable: &str, name: &str, text: &str) -> Result<Vec<(String, RawFd)>, String> {
    let all = text.split(';').filter(|pair| !pair.is_empty());
    all.map(|pair| {
        let split = pair.rsplit_once('=');
        let parsed = split.and_then(|(name, number)| Some((name, number.parse().ok()?)));
        match parsed.filter(|(_, number)| *number >= FIRST) {
            Some((name, number)) => Ok((name.to_owned(), number)),
            None => Err(format!(
                "{variable} has `{pair}`; expected {name}=DESCRIPTOR"
            )),
        }
    })
    .collect()
}

fn listening(number: RawFd, opener: Opener) -> Result<Inherited, String> {
    let socket = open(number)?;
    match sockopt::get_socket_acceptconn(&socket) {
        Ok(true) => Ok(Inherited { socket, opener }),
        _ => Err(format!(
            "descriptor {number} is not a socket that listens; expected one that does"
        )),
    }
}

/// Takes an inherited stream socket.
fn open(number: RawFd) -> Result<OwnedFd, String> {
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
    match sockopt::get_socket_type(&socket) {
        Ok(SocketType::STREAM) => Ok(socket),
        _ => Err(format!("descriptor {number} is not a stream socket")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_a_variable_are_parsed_and_wrong_ones_are_refused() {
        let read = |text| pairs("V", "KIND", text);
        let two = vec![("listen".to_owned(), 7), ("a=b".to_owned(), 9)];
        assert_eq!(read("listen=7;a=b=9;"), Ok(two));
        for wrong in ["listen", "listen=", "listen=x", "listen=2", "=;listen=7"] {
            let refusal = read(wrong).expect_err(wrong);
            assert!(refusal.contains("expected KIND=DESCRIPTOR"), "{refusal}");
        }
    }

    #[test]
    fn descriptor_that_is_not_open_is_refused() {
        let refusal = open(900_000).expect_err("it is not open");
        assert!(refusal.contains("is not open"), "{refusal}");
    }

    #[test]
    fn socket_that_does_not_listen_is_refused() {
        let (one, _other) = UnixStream::pair().expect("a pair");
        let number = std::os::fd::IntoRawFd::into_raw_fd(one);
        let Err(refusal) = listening(number, Opener::Listen) else {
            panic!("it was taken");
        };
        assert!(refusal.contains("not a socket that listens"), "{refusal}");
    }
}
