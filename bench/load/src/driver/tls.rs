//! Runs TLS over a link's socket with rustls. The event loop calls this module; there is no async
//! runtime.

mod policy;

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::net::SendFlags;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ProtocolVersion};

use crate::observe::TlsFacts;
use crate::plan_error::PlanError;

use super::receive::{self, Received, Stamp};
pub use policy::configuration;

pub struct Tls {
    connection: ClientConnection,
    /// The arrival time of the last bytes read from the socket.
    stamp: Option<Stamp>,
}

/// The progress of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    Done,
    Waiting,
}

impl Tls {
    pub fn new(configuration: &Arc<ClientConfig>, name: &ServerName<'static>) -> io::Result<Tls> {
        ClientConnection::new(Arc::clone(configuration), name.clone())
            .map(|connection| Tls {
                connection,
                stamp: None,
            })
            .map_err(invalid)
    }

    /// Continues the handshake as far as the socket allows.
    pub fn shake_hands(&mut self, socket: &OwnedFd) -> io::Result<Handshake> {
        loop {
            if !self.flush(socket)? {
                return Ok(Handshake::Waiting);
            }
            if !self.connection.is_handshaking() {
                return Ok(Handshake::Done);
            }
            match self.take(socket) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => self.process(socket)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Handshake::Waiting)
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Receives bytes like recv(2). A count of 0 is the end. `WouldBlock` means that an event will
    /// announce further bytes.
    pub fn receive(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Received> {
        loop {
            let count = match self.connection.reader().read(buffer) {
                Ok(count) => count,
                // An end without close_notify is no error here, because the response's framing
                // shows a missing part.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.take(socket)?;
                    self.process(socket)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let stamp = self.stamp.filter(|_| count > 0);
            return Ok(Received { count, stamp });
        }
    }

    /// Takes bytes from the socket without processing them.
    fn take(&mut self, socket: &OwnedFd) -> io::Result<usize> {
        let mut raw = Raw {
            socket,
            stamp: self.stamp,
        };
        let count = self.connection.read_tls(&mut raw)?;
        self.stamp = raw.stamp;
        Ok(count)
    }

    /// Sends bytes like send(2). If the socket does not take all bytes at once, `flush` sends the
    /// rest later.
    pub fn send(&mut self, socket: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.connection.writer().write(bytes)?;
        self.flush(socket)?;
        match taken {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            taken => Ok(taken),
        }
    }

    /// Sends the waiting bytes. Returns false if the socket takes no more bytes now.
    pub fn flush(&mut self, socket: &OwnedFd) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Raw::new(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn process(&mut self, socket: &OwnedFd) -> io::Result<()> {
        if let Err(error) = self.connection.process_new_packets() {
            // Tries to send the alert with the reason. The handshake's error is returned in any
            // case.
            let _ = self.flush(socket);
            return Err(invalid(error));
        }
        self.flush(socket).map(|_| ())
    }

    pub fn has_agreed_on_http2(&self) -> bool {
        self.connection.alpn_protocol() == Some(b"h2")
    }

    pub fn facts(&self) -> TlsFacts {
        let suite = self.connection.negotiated_cipher_suite();
        let cipher = suite
            .and_then(|suite| suite.suite().as_str())
            .unwrap_or_default();
        let group = self.connection.negotiated_key_exchange_group();
        TlsFacts {
            version: match self.connection.protocol_version() {
                Some(ProtocolVersion::TLSv1_3) => "TLSv1.3".into(),
                Some(ProtocolVersion::TLSv1_2) => "TLSv1.2".into(),
                other => format!("{other:?}"),
            },
            cipher_bits: if cipher.contains("128") { 128 } else { 256 },
            cipher: openssl_name(cipher),
            key_exchange: group
                .map(|group| format!("{:?}", group.name()))
                .unwrap_or_default(),
            peer_key_bits: 0,
        }
    }
}

/// Returns OpenSSL's name of a cipher: `TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384` is
/// `ECDHE-RSA-AES256-GCM-SHA384`.
fn openssl_name(cipher: &str) -> String {
    if let Some(rest) = cipher.strip_prefix("TLS13_") {
        return format!("TLS_{rest}");
    }
    let words = cipher
        .trim_start_matches("TLS_")
        .replace("_WITH", "")
        .replace('_', "-");
    let words = words.replace("AES-", "AES");
    match words.split_once("-POLY1305") {
        Some((words, _)) => format!("{words}-POLY1305"),
        None => words,
    }
}

fn invalid(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Returns the name that the server's certificate must prove.
pub fn server_name(name: &str) -> Result<ServerName<'static>, PlanError> {
    ServerName::try_from(name.to_string())
        .map_err(|_| PlanError::new(format!("`{name}` cannot be the name of a TLS server")))
}

/// The socket as a reader and writer for rustls.
struct Raw<'a> {
    socket: &'a OwnedFd,
    stamp: Option<Stamp>,
}

impl<'a> Raw<'a> {
    fn new(socket: &'a OwnedFd) -> Raw<'a> {
        Raw {
            socket,
            stamp: None,
        }
    }
}

impl Read for Raw<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let received = receive::receive(self.socket, buffer)?;
        self.stamp = received.stamp;
        Ok(received.count)
    }
}

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.socket, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn ciphers_have_the_names_of_openssl() {
        for (ours, theirs) in [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            (
                "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                "ECDHE-RSA-AES128-GCM-SHA256",
            ),
            (
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                "ECDHE-ECDSA-CHACHA20-POLY1305",
            ),
        ] {
            assert_eq!(super::openssl_name(ours), theirs);
        }
    }
}
