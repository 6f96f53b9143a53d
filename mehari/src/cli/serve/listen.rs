//! Binds the listening addresses and makes their URLs for the ready line.

use super::inherited::Inherited;
use mehari_config::Listen;
use mehari_front::{Listener, ListenerOptions};
use rustix::net::{
    sockopt, AddressFamily, SocketAddrAny, SocketAddrV4, SocketAddrV6, SocketFlags, SocketType,
};
use std::ffi::OsStr;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A listener and the URL that reaches it.
pub struct Bound {
    pub listener: Listener,
    pub url: String,
    pub port: Option<u16>,
}

/// Binds `host:port`, `[v6]:port`, `*:port` or `unix:/path`.
///
/// # Errors
/// A text of one line, for the administrator.
pub fn bind(address: &str, options: ListenerOptions, backlog: u32) -> Result<Bound, String> {
    if let Some(path) = address.strip_prefix("unix:") {
        return bind_unix(Path::new(path))
            .map_err(|error| format!("cannot listen on {address}: {error}"));
    }
    let bound_to = match every_address(address) {
        Some(port) => bind_every_address(port, backlog),
        None => {
            let resolved = address
                .to_socket_addrs()
                .map_err(|error| {
                    format!(
                        "cannot listen on `{address}`: expected a port, host:port, \
                         https://host:port or unix:/path ({error})"
                    )
                })?
                .next()
                .ok_or_else(|| format!("cannot listen on `{address}`: the name has no address"))?;
            bind_tcp(resolved, Families::Own, backlog)
        }
    };
    let listener = bound_to.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("cannot listen on {address}: another program already listens there")
        }
        _ => format!("cannot listen on {address}: {error}"),
    })?;
    let local = listener.local_addr().map_err(|error| error.to_string())?;
    Ok(bound(listener, local, options))
}

/// Returns the port of `*:port`, an address that means all IPv4 and IPv6 addresses.
fn every_address(address: &str) -> Option<u16> {
    address.strip_prefix("*:")?.parse().ok()
}

/// Binds a port on every address. As in Apache, one IPv6 socket accepts IPv4 clients, too. On a
/// machine without IPv6 the socket is an IPv4 socket.
fn bind_every_address(port: u16, backlog: u32) -> io::Result<std::net::TcpListener> {
    let every = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    bind_tcp(every, Families::Both, backlog).or_else(|error| {
        let has_no_ipv6 = [
            rustix::io::Errno::AFNOSUPPORT,
            rustix::io::Errno::ADDRNOTAVAIL,
        ];
        if has_no_ipv6
            .contains(&rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO))
        {
            let every = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
            bind_tcp(every, Families::Own, backlog)
        } else {
            Err(error)
        }
    })
}

/// Whether a wildcard IPv6 socket also takes IPv4 clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Families {
    Own,
    Both,
}

/// Returns the inherited socket for this address, if there is one. Port 0 takes a socket with any
/// port.
pub fn inherited_for(listen: &Listen, inherited: &mut Vec<Inherited>) -> Option<Inherited> {
    let at = inherited.iter().position(|socket| is_for(listen, socket))?;
    Some(inherited.remove(at))
}

fn is_for(listen: &Listen, socket: &Inherited) -> bool {
    if let Some(path) = listen.address.strip_prefix("unix:") {
        return unix_path(socket).is_some_and(|known| known == Path::new(path));
    }
    let Some(local) = tcp_address(socket) else {
        return false;
    };
    let is_port = |port: u16| port == local.port() || port == 0;
    match every_address(&listen.address) {
        Some(port) => local.ip().is_unspecified() && is_port(port),
        None => {
            let wanted = listen.address.to_socket_addrs().ok();
            let mut wanted = wanted.into_iter().flatten();
            wanted.any(|one| one.ip() == local.ip() && is_port(one.port()))
        }
    }
}

fn tcp_address(socket: &Inherited) -> Option<SocketAddr> {
    match rustix::net::getsockname(&socket.socket).ok()? {
        SocketAddrAny::V4(address) => {
            Some(SocketAddr::from((address.ip().octets(), address.port())))
        }
        SocketAddrAny::V6(address) => {
            Some(SocketAddr::from((address.ip().octets(), address.port())))
        }
        _ => None,
    }
}

fn unix_path(socket: &Inherited) -> Option<PathBuf> {
    match rustix::net::getsockname(&socket.socket).ok()? {
        SocketAddrAny::Unix(address) => {
            let path = address.path()?.to_bytes();
            Some(PathBuf::from(OsStr::from_bytes(path)))
        }
        _ => None,
    }
}

/// Prepares an inherited socket, which already listens.
pub fn adopt(socket: Inherited, options: ListenerOptions) -> Result<Bound, String> {
    if let Some(path) = unix_path(&socket) {
        let listener = std::os::unix::net::UnixListener::from(socket.socket);
        let prepared = listener.set_nonblocking(true);
        prepared.map_err(|error| error.to_string())?;
        return Ok(Bound {
            listener: listener.into(),
            url: format!("unix:{}", path.display()),
            port: None,
        });
    }
    let local = tcp_address(&socket).ok_or("an inherited socket is neither TCP nor Unix")?;
    let listener = std::net::TcpListener::from(socket.socket);
    Ok(bound(listener, local, options))
}

fn bound(listener: std::net::TcpListener, local: SocketAddr, options: ListenerOptions) -> Bound {
    Bound {
        listener: Listener::Tcp(listener, options),
        url: if options.secure {
            format!("https://{local}/")
        } else {
            format!("http://{local}/")
        },
        port: Some(local.port()),
    }
}

fn bind_tcp(
    address: SocketAddr,
    families: Families,
    backlog: u32,
) -> io::Result<std::net::TcpListener> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, families == Families::Own)?;
    }
    let any = match address {
        SocketAddr::V4(address) => {
            SocketAddrAny::V4(SocketAddrV4::new(*address.ip(), address.port()))
        }
        SocketAddr::V6(address) => SocketAddrAny::V6(SocketAddrV6::new(
            *address.ip(),
            address.port(),
            address.flowinfo(),
            address.scope_id(),
        )),
    };
    rustix::net::bind_any(&socket, &any)?;
    // All connections inherit the option, even connections that exist before the front accepts
    // them.
    rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
    rustix::net::listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket.into())
}

fn bind_unix(path: &Path) -> io::Result<Bound> {
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another program listens there",
        ));
    }
    let _ = std::fs::remove_file(path);
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    Ok(Bound {
        listener: listener.into(),
        url: format!("unix:{}", path.display()),
        port: None,
    })
}
