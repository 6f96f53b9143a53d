//! The connection to a collector: a socket each of whose calls heeds one time limit, with TLS for
//! `https://`. The collector's certificate is always verified.

use mehari_config::TraceExport;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The TLS settings for a collector, with the name that its certificate must have.
pub struct Trust {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Trust {
    /// Reads the trusted authorities: the file of the settings, or the system's.
    ///
    /// # Errors
    ///
    /// A text with the file and the problem.
    pub fn load(settings: &TraceExport) -> Result<Trust, String> {
        let name = ServerName::try_from(settings.host.clone());
        let name = name.map_err(|_| format!("{settings}: the host is no name of a certificate"))?;
        let roots = match &settings.authorities {
            Some(file) => roots_in(file).map_err(|why| format!("ca={}: {why}", file.display()))?,
            None => system_roots()?,
        };
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS: {error}"))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Trust {
            config: Arc::new(config),
            name,
        })
    }
}

fn roots_in(file: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| error.to_string())?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() {
        Err("the file has no certificate in PEM".to_owned())
    } else {
        Ok(roots)
    }
}

fn system_roots() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        Err(
            "the system trusts no authority (package ca-certificates): expected \
                     ca=FILE"
                .to_owned(),
        )
    } else {
        Ok(roots)
    }
}

/// A socket whose calls fail when the time limit has passed.
pub struct LimitedSocket {
    socket: TcpStream,
    until: Instant,
}

impl Read for LimitedSocket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(left(self.until)?))?;
        self.socket.read(into)
    }
}

impl Write for LimitedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(left(self.until)?))?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection to a collector.
pub enum Connection {
    Plain(LimitedSocket),
    Secure(Box<StreamOwned<ClientConnection, LimitedSocket>>),
}

impl Connection {
    /// Connects to the first address of the collector's name that accepts.
    pub fn open(to: &TraceExport, trust: Option<&Trust>, until: Instant) -> io::Result<Connection> {
        let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for address in (to.host.as_str(), to.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left(until)?) {
                Ok(socket) => return Connection::over(LimitedSocket { socket, until }, trust),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn over(socket: LimitedSocket, trust: Option<&Trust>) -> io::Result<Connection> {
        let Some(Trust { config, name }) = trust else {
            return Ok(Connection::Plain(socket));
        };
        let tls = ClientConnection::new(config.clone(), name.clone()).map_err(io::Error::other)?;
        let stream = StreamOwned::new(tls, socket);
        Ok(Connection::Secure(Box::new(stream)))
    }

    /// Sets the time limit of the next exchange.
    pub fn limit(&mut self, until: Instant) {
        match self {
            Connection::Plain(socket) => socket.until = until,
            Connection::Secure(stream) => stream.sock.until = until,
        }
    }
}

impl Read for Connection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Connection::Plain(socket) => socket.read(into),
            Connection::Secure(stream) => stream.read(into),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Connection::Plain(socket) => socket.write(bytes),
            Connection::Secure(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Connection::Plain(socket) => socket.flush(),
            Connection::Secure(stream) => stream.flush(),
        }
    }
}

/// Returns the time until the limit, which is never zero.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(ErrorKind::TimedOut.into())
    } else {
        Ok(left)
    }
}
