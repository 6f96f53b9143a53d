//! Sends the request whose parts are wanted, on a connection of its own.

use mehari_record::trust::AnyCertificate;
use rustix::net::{self, AddressFamily, SocketAddrAny, SocketFlags, SocketType};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The longest wait for the next bytes of the response.
const PATIENCE: Duration = Duration::from_secs(300);

/// A request that is not sent yet. Its port is known before the server can see it.
pub struct TracedRequest {
    socket: OwnedFd,
    address: SocketAddr,
    url: Url,
}

/// What came back.
pub struct Page {
    /// The status line.
    pub status: String,
    /// Bytes of head and body.
    pub bytes: u64,
}

impl TracedRequest {
    /// Reads an address of the form `http://host:port/path?query`, and takes a port.
    ///
    /// # Errors
    /// The address is none of HTTP, or there is no port.
    pub fn prepare(text: &str) -> Result<TracedRequest, String> {
        let url = Url::parse(text).map_err(|error| format!("{text}: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{text}: expected http:// or https://"));
        }
        let addresses = url.socket_addrs(|| None);
        let addresses = addresses.map_err(|error| format!("{text}: {error}"))?;
        let address = *addresses
            .first()
            .ok_or_else(|| format!("{text}: the host has no address"))?;
        let socket = bound_socket(&address).map_err(|error| format!("{text}: {error}"))?;
        Ok(TracedRequest {
            socket,
            address,
            url,
        })
    }

    /// Returns the port of the connection, as the server will see it.
    ///
    /// # Errors
    /// The system does not tell the port.
    pub fn port(&self) -> io::Result<u16> {
        match net::getsockname(&self.socket)? {
            SocketAddrAny::V4(address) => Ok(address.port()),
            SocketAddrAny::V6(address) => Ok(address.port()),
            _ => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    }

    /// Connects, sends the request and reads the response to its end.
    ///
    /// # Errors
    /// Nothing listens there, the connection ends too early, or TLS fails.
    pub fn send(self) -> io::Result<Page> {
        let request = self.text();
        net::connect(&self.socket, &self.address)?;
        let socket = TcpStream::from(self.socket);
        socket.set_read_timeout(Some(PATIENCE))?;
        match self.url.scheme() {
            "https" => exchange(secured(socket, &self.url)?, &request),
            _ => exchange(socket, &request),
        }
    }

    fn text(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map(|port| format!(":{port}"));
        let query = self.url.query().map(|query| format!("?{query}"));
        format!(
            "GET {}{} HTTP/1.1\r\nHost: {host}{}\r\nUser-Agent: mehari-trace\r\nConnection: close\r\n\r\n",
            self.url.path(),
            query.unwrap_or_default(),
            port.unwrap_or_default()
        )
    }
}

fn bound_socket(to: &SocketAddr) -> io::Result<OwnedFd> {
    let (family, any) = match to {
        SocketAddr::V4(_) => (AddressFamily::INET, IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        SocketAddr::V6(_) => (AddressFamily::INET6, IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
    };
    let flags = SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    net::bind(&socket, &SocketAddr::new(any, 0))?;
    Ok(socket)
}

/// Begins TLS. Every certificate is accepted, because the server is the user's own.
fn secured(socket: TcpStream, url: &Url) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_matches(['[', ']']).to_owned();
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    let tls = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    Ok(StreamOwned::new(tls, socket))
}

fn exchange(mut stream: impl Read + Write, request: &str) -> io::Result<Page> {
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut head = Vec::new();
    let mut bytes = 0;
    let mut window = [0; 16 * 1024];
    loop {
        let count = match stream.read(&mut window) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) if bytes > 0 => break,
            Err(error) => return Err(error),
        };
        bytes += count as u64;
        if head.len() < 256 {
            head.extend_from_slice(&window[..count]);
        }
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    Ok(Page {
        status: String::from_utf8_lossy(line).into_owned(),
        bytes,
    })
}
