//! Sends the request whose parts are wanted, on a connection of its own.

use crate::page::Page;
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
/// The most bytes of a response that are read.
const LONGEST: usize = 64 << 20;

/// A request that is not sent yet. Its port is known before the server can see it.
pub struct TracedRequest {
    socket: OwnedFd,
    address: SocketAddr,
    url: Url,
    /// Further lines of the head, each with its line end.
    fields: String,
    host: Option<String>,
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
            fields: String::new(),
            host: None,
        })
    }

    /// Adds a field to the request. `Host` takes the place of the URL's.
    pub fn with_field(mut self, name: &str, value: &str) -> TracedRequest {
        let is_plain = |text: &str| !text.contains(char::is_control);
        if name == "Host" && is_plain(value) {
            self.host = Some(value.to_owned());
        } else if is_plain(name) && is_plain(value) {
            self.fields.push_str(&format!("{name}: {value}\r\n"));
        }
        self
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
        let own = || {
            let host = self.url.host_str().unwrap_or_default();
            let port = self.url.port().map(|port| format!(":{port}"));
            format!("{host}{}", port.unwrap_or_default())
        };
        let host = self.host.clone().unwrap_or_else(own);
        let query = self.url.query().map(|query| format!("?{query}"));
        format!(
            "GET {}{} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: mehari-trace\r\n{}Connection: close\r\n\r\n",
            self.url.path(),
            query.unwrap_or_default(),
            self.fields
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
    let mut received = Vec::new();
    let mut window = [0; 16 * 1024];
    while received.len() < LONGEST {
        let count = match stream.read(&mut window) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) if !received.is_empty() => break,
            Err(error) => return Err(error),
        };
        received.extend_from_slice(&window[..count]);
    }
    Ok(Page::of(&received))
}
