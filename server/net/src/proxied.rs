//! Finds the client behind a proxy. The proxy names the client in the PROXY protocol at the start
//! of a connection (HAProxy's specification, versions 1 and 2), or in the field of mod_remoteip in
//! each request. Only configured proxies are trusted.

use crate::deadline::ConnectionGuard;
use crate::Peer;
use mehari_config::RemoteAddress;
use mehari_http::Field;
use std::future::{poll_fn, Future};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::task::Poll;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// The shortest header of both versions, in bytes. The next constant is the longest header of
/// version 1.
const START: usize = 12;
const LONGEST_LINE: usize = 107;
const SIGNATURE: &[u8; START] = b"\r\n\r\n\0\r\nQUIT\n";
/// The longest part with addresses and extensions, in bytes.
const LONGEST_REST: usize = 4096;

/// Reads the header and writes the client that it names into `peer`. Reads no byte behind the
/// header.
///
/// # Errors
///
/// The reason why the connection must be closed.
pub async fn read_header(
    socket: &mut TcpStream,
    guard: &ConnectionGuard,
    peer: &mut Peer,
) -> Result<(), String> {
    let mut reading = pin!(header(socket));
    let read = poll_fn(|cx| match reading.as_mut().poll(cx) {
        Poll::Ready(read) => Poll::Ready(read.map_err(|error| error.to_string())),
        Poll::Pending => match guard.poll_interrupt(cx) {
            None => Poll::Pending,
            Some(_) => Poll::Ready(Err("it took too long".into())),
        },
    });
    if let Some((source, destination)) = read.await? {
        peer.remote_addr = source.ip().to_canonical().into();
        peer.remote_port = source.port();
        peer.server_addr = destination.ip().to_canonical().into();
        peer.server_port = destination.port();
        peer.server_ip = Some(destination.ip().to_canonical());
    }
    Ok(())
}

type Ends = (SocketAddr, SocketAddr);

/// Reads the header. Returns `None` if the header names no client, as in a proxy's health check.
async fn header(socket: &mut TcpStream) -> io::Result<Option<Ends>> {
    let mut start = [0; START];
    socket.read_exact(&mut start).await?;
    if start == *SIGNATURE {
        binary(socket).await
    } else {
        line(socket, &start).await
    }
}

/// Reads a line such as `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n`.
async fn line(socket: &mut TcpStream, start: &[u8]) -> io::Result<Option<Ends>> {
    let mut line = start.to_vec();
    // The line is read byte by byte, because the bytes behind it belong to the client.
    while !line.ends_with(b"\r\n") {
        if line.len() >= LONGEST_LINE || !line.starts_with(b"PROXY ") {
            return Err(malformed());
        }
        line.push(socket.read_u8().await?);
    }
    parse_line(&line).ok_or_else(malformed)
}

/// Reads a port. Only decimal digits are allowed.
fn port(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn parse_line(line: &[u8]) -> Option<Option<Ends>> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix("\r\n")?;
    let mut words = text.split(' ');
    (words.next() == Some("PROXY")).then_some(())?;
    let is_v4 = match words.next()? {
        "TCP4" => true,
        "TCP6" => false,
        "UNKNOWN" => return Some(None),
        _ => return None,
    };
    let source: IpAddr = words.next()?.parse().ok()?;
    let destination: IpAddr = words.next()?.parse().ok()?;
    let ports = (port(words.next()?)?, port(words.next()?)?);
    let whole =
        words.next().is_none() && source.is_ipv4() == is_v4 && destination.is_ipv4() == is_v4;
    whole.then_some(Some((
        SocketAddr::new(source, ports.0),
        SocketAddr::new(destination, ports.1),
    )))
}

async fn binary(socket: &mut TcpStream) -> io::Result<Option<Ends>> {
    let mut head = [0; 4];
    socket.read_exact(&mut head).await?;
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    if length > LONGEST_REST {
        return Err(malformed());
    }
    let mut rest = vec![0; length];
    socket.read_exact(&mut rest).await?;
    parse_binary(head[0], head[1], &rest).ok_or_else(malformed)
}

fn parse_binary(version_and_command: u8, family: u8, rest: &[u8]) -> Option<Option<Ends>> {
    match version_and_command {
        0x20 => return Some(None),
        0x21 => {}
        _ => return None,
    }
    let port = |at: usize| Some(u16::from_be_bytes(rest.get(at..at + 2)?.try_into().ok()?));
    match family {
        0x11 => {
            let address = |at: usize| {
                let bytes: [u8; 4] = rest.get(at..at + 4)?.try_into().ok()?;
                Some(IpAddr::from(Ipv4Addr::from(bytes)))
            };
            let source = SocketAddr::new(address(0)?, port(8)?);
            Some(Some((source, SocketAddr::new(address(4)?, port(10)?))))
        }
        0x21 => {
            let address = |at: usize| {
                let bytes: [u8; 16] = rest.get(at..at + 16)?.try_into().ok()?;
                Some(IpAddr::from(Ipv6Addr::from(bytes)))
            };
            let source = SocketAddr::new(address(0)?, port(32)?);
            Some(Some((source, SocketAddr::new(address(16)?, port(34)?))))
        }
        // An address of another family names no client.
        _ => Some(None),
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not a PROXY header")
}

/// Returns the client that a trusted proxy names, or `None` if the other end of the connection is
/// the client. The field is read from its end, and each address is accepted as long as the address
/// behind it is of a proxy that may name it.
pub fn client<'a>(
    rule: &RemoteAddress,
    peer: &Peer,
    fields: impl DoubleEndedIterator<Item = Field<'a>>,
) -> Option<Peer> {
    let mut current: IpAddr = peer.remote_addr.parse().ok()?;
    let mut found = None;
    let named = fields.filter(|(name, _)| name.eq_ignore_ascii_case(rule.header.as_bytes()));
    let entries = named
        .rev()
        .flat_map(|(_, value)| value.rsplit(|&byte| byte == b','));
    for entry in entries {
        let Some(proxy) = rule.proxy(current) else {
            break;
        };
        let address = parse_entry(entry.trim_ascii());
        let Some(address) = address.filter(|&address| proxy.may_name(address)) else {
            break;
        };
        current = address;
        found = Some(address);
    }
    found.map(|address| Peer {
        remote_addr: address.to_canonical().into(),
        remote_port: 0,
        ..peer.clone()
    })
}

/// Reads an address. As in Apache, an address with a port or in brackets is invalid.
fn parse_entry(entry: &[u8]) -> Option<IpAddr> {
    std::str::from_utf8(entry).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_lines_of_version_1_are_refused() {
        let ends = parse_line(b"PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n");
        let (source, destination) = ends.flatten().expect("right");
        assert_eq!(
            (source.to_string(), destination.to_string()),
            ("192.0.2.1:56324".into(), "198.51.100.1:443".into())
        );
        assert_eq!(parse_line(b"PROXY UNKNOWN\r\n"), Some(None));
        assert!(parse_line(b"PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n")
            .flatten()
            .is_some());
        for wrong in [
            "PROXY TCP4 192.0.2.1 198.51.100.1 56324\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 56324 70000\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 +1 2\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 1 -2\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 1 0x2\r\n",
            "PROXY TCP4 2001:db8::1 198.51.100.1 1 2\r\n",
            "PROXY TCP6 192.0.2.1 198.51.100.1 1 2\r\n",
            "PROXY TCP4 192.0.2.1  198.51.100.1 1 2\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 1 2 3\r\n",
            "GET / HTTP/1.1\r\n",
        ] {
            assert_eq!(parse_line(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn version_2_is_read_with_extensions_behind_the_addresses() {
        let v4 = [192, 0, 2, 1, 198, 51, 100, 1, 0, 80, 1, 187, 3, 0, 0];
        let (source, destination) = parse_binary(0x21, 0x11, &v4).flatten().expect("right");
        assert_eq!((source.port(), destination.port()), (80, 443));
        assert_eq!(parse_binary(0x20, 0, &[]), Some(None), "LOCAL");
        assert_eq!(
            parse_binary(0x21, 0x31, &[0; 216]),
            Some(None),
            "a Unix socket"
        );
        assert_eq!(parse_binary(0x21, 0x11, &v4[..11]), None, "cut short");
        assert_eq!(parse_binary(0x31, 0x11, &v4), None, "another version");
    }

    #[test]
    fn only_addresses_from_trusted_proxies_are_accepted() {
        let rule = RemoteAddress::new("X-Forwarded-For", &["10.0.0.0/8", "127.0.0.1"]);
        let peer = |address: &str| Peer {
            remote_addr: address.parse::<IpAddr>().expect("an address").into(),
            ..Peer::default()
        };
        for (from, fields, expected) in [
            ("127.0.0.1", &["192.0.2.9"][..], Some("192.0.2.9")),
            (
                "127.0.0.1",
                &["6.6.6.6, 192.0.2.9, 10.1.1.1"],
                Some("192.0.2.9"),
            ),
            ("127.0.0.1", &["6.6.6.6", "192.0.2.9"], Some("192.0.2.9")),
            ("127.0.0.1", &["192.0.2.9:4000"], None),
            ("127.0.0.1", &["[2001:db8::1]"], None),
            ("127.0.0.1", &["2001:db8::1"], Some("2001:db8::1")),
            ("127.0.0.1", &["6.6.6.6, nonsense"], None),
            ("192.0.2.1", &["6.6.6.6"], None),
            ("127.0.0.1", &[], None),
        ] {
            let fields = fields
                .iter()
                .map(|value| (&b"x-forwarded-for"[..], value.as_bytes()));
            let found = client(&rule, &peer(from), fields).map(|peer| peer.remote_addr);
            assert_eq!(found.as_deref(), expected, "{from}");
        }
    }
}
