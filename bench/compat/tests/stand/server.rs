//! Runs a server whose behaviour is known. The path of a request selects the behaviour, and the
//! server stores every request.
//! | path | behaviour |
//! |---|---|
//! | `/fixed` | 319 bytes; the connection stays open if the client asks for it |
//! | `/lines` | three lines of text |
//! | `/close` | no Content-Length; the end of the connection ends the body |
//! | `/empty` | the server closes the connection without a byte |
//! | `/reset` | the server resets the connection after the request |
//! | `/broken` | the server resets the connection within the body |
//! | `/short` | the server announces 400 bytes, sends 319 and closes the connection |
//! | `/hang` | the server never answers |
//! | `/slow` | the server answers after 0.2 s |
//! | `/variable` | each body is one byte longer than the previous body |
//! | `/chunked` | three chunks, for HTTP/1.1 only |
//! | `/NNN` | the status NNN |
//! | `/cookie` | the answer sets a cookie |
//! | `/bare` | the head's lines end with bare line feeds |

use rustix::fd::OwnedFd;
use rustix::net::{bind_v4, getsockname, socket, AddressFamily, SocketAddrAny, SocketType};
use rustls::pki_types::PrivateKeyDer;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub struct Server {
    pub port: u16,
    pub tls_port: u16,
    /// A reserved port on which no process listens.
    pub refused_port: u16,
    _taken: OwnedFd,
    state: Arc<ServerState>,
}

#[derive(Default)]
struct ServerState {
    requests: Mutex<Vec<Vec<u8>>>,
    served: AtomicUsize,
}

impl Server {
    pub fn start() -> Server {
        let state = Arc::new(ServerState::default());
        let port = listen(state.clone(), |stream, state| serve(stream, &state));
        let configuration = certificate();
        let tls_port = listen(state.clone(), move |stream, state| {
            serve_tls(stream, &state, configuration.clone());
        });
        let taken = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind_v4(&taken, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let Ok(SocketAddrAny::V4(address)) = getsockname(&taken) else {
            panic!("its address")
        };
        Server {
            port,
            tls_port,
            refused_port: address.port(),
            _taken: taken,
            state,
        }
    }

    pub fn forget(&self) {
        self.state.requests.lock().unwrap().clear();
    }

    /// Returns the received requests, each different request once.
    pub fn different_requests(&self) -> Vec<Vec<u8>> {
        let mut requests = self.state.requests.lock().unwrap().clone();
        requests.sort();
        requests.dedup();
        requests
    }

    pub fn count(&self) -> usize {
        self.state.requests.lock().unwrap().len()
    }
}

fn listen(
    state: Arc<ServerState>,
    serve: impl Fn(TcpStream, Arc<ServerState>) + Send + Clone + 'static,
) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (state, serve) = (state.clone(), serve.clone());
            std::thread::spawn(move || serve(stream, state));
        }
    });
    port
}

/// What the server does with the connection after an answer.
#[derive(PartialEq)]
enum After {
    Keep,
    Close,
    Reset,
    Hang,
}

fn serve(mut stream: TcpStream, state: &ServerState) {
    let _ = stream.set_nodelay(true);
    let after = answer_all(&mut stream, state);
    match after {
        After::Reset => {
            let now = Some(Duration::ZERO);
            let _ = rustix::net::sockopt::set_socket_linger(&stream, now);
        }
        After::Hang => {
            let _ = stream.read(&mut [0]);
        }
        _ => {}
    }
}

fn serve_tls(mut stream: TcpStream, state: &ServerState, configuration: Arc<rustls::ServerConfig>) {
    let Ok(mut connection) = rustls::ServerConnection::new(configuration) else {
        return;
    };
    let mut both = rustls::Stream::new(&mut connection, &mut stream);
    answer_all(&mut both, state);
    connection.send_close_notify();
    let _ = connection.write_tls(&mut stream);
}

/// Returns a new self-signed certificate.
fn certificate() -> Arc<rustls::ServerConfig> {
    // The server offers a single key exchange group, because ab prints the group in its report.
    let provider = rustls::crypto::CryptoProvider {
        kx_groups: vec![rustls::crypto::aws_lc_rs::kx_group::X25519],
        ..rustls::crypto::aws_lc_rs::default_provider()
    };
    let _ = provider.clone().install_default();
    let names = ["localhost".to_string(), "127.0.0.1".to_string()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let builder = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth();
    let chain = vec![made.cert.der().clone()];
    Arc::new(builder.with_single_cert(chain, key).unwrap())
}

/// Answers requests until the connection ends.
fn answer_all(stream: &mut (impl Read + Write), state: &ServerState) -> After {
    let mut waiting = Vec::new();
    loop {
        let Some(request) = next_request(stream, &mut waiting) else {
            return After::Close;
        };
        state.requests.lock().unwrap().push(request.clone());
        let after = answer(stream, &request, state);
        if after != After::Keep {
            return after;
        }
    }
}

/// Reads the next whole request, head and body. Returns its bytes.
fn next_request(stream: &mut impl Read, waiting: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        if let Some(head) = waiting.windows(4).position(|four| four == b"\r\n\r\n") {
            let length = head + 4 + content_length(&waiting[..head]);
            if waiting.len() >= length {
                let rest = waiting.split_off(length);
                return Some(std::mem::replace(waiting, rest));
            }
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => waiting.extend(&piece[..count]),
            _ => return None,
        }
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_lowercase();
    head.lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or(0)
}

fn answer(stream: &mut impl Write, request: &[u8], state: &ServerState) -> After {
    let text = String::from_utf8_lossy(request).into_owned();
    let mut words = text.split(' ');
    let method = words.next().unwrap_or_default();
    let target = words.next().unwrap_or_default();
    let path = match target.strip_prefix("http://") {
        Some(rest) => &rest[rest.find('/').unwrap_or(0)..],
        None => target,
    };
    let is_11 = text.lines().next().unwrap_or_default().ends_with("1.1");
    let keep = is_11 || text.to_lowercase().contains("connection: keep-alive");
    let served = state.served.fetch_add(1, Ordering::Relaxed);
    match path {
        "/empty" => return After::Close,
        "/reset" => return After::Reset,
        "/hang" => return After::Hang,
        "/slow" => std::thread::sleep(Duration::from_millis(200)),
        _ => {}
    }
    let status = match path[1..].parse::<u16>() {
        Ok(status) => format!("{status} Status {status}"),
        Err(_) => "200 OK".into(),
    };
    let body = match path {
        "/lines" => b"one\ntwo\nthree\n".to_vec(),
        "/variable" => vec![b'v'; 1 + served],
        "/chunked" if is_11 => b"3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n0\r\n\r\n".to_vec(),
        _ => vec![b'x'; 319],
    };
    let mut head = format!("HTTP/1.1 {status}\r\nServer: Known/1.0 (test)\r\n");
    match path {
        "/close" => {}
        "/chunked" if is_11 => head.push_str("Transfer-Encoding: chunked\r\n"),
        _ => head.push_str(&format!("Content-Length: {}\r\n", body.len())),
    }
    if path == "/cookie" {
        head.push_str("Set-Cookie: seen=yes; path=/\r\n");
    }
    let keep = keep && path != "/close";
    head.push_str(if keep {
        "Connection: Keep-Alive\r\n\r\n"
    } else {
        "Connection: close\r\n\r\n"
    });
    if path == "/bare" {
        head = head.replace('\r', "");
    }
    if matches!(path, "/short" | "/broken") {
        head = head.replace("319", "400");
    }
    let mut bytes = head.into_bytes();
    if method != "HEAD" {
        bytes.extend(body);
    }
    let written = stream.write_all(&bytes).and_then(|()| stream.flush());
    match (path, written) {
        ("/broken", _) => {
            // The client needs time to read the first half before the reset discards it.
            std::thread::sleep(Duration::from_millis(50));
            After::Reset
        }
        ("/short", _) => After::Close,
        (_, Ok(())) if keep => After::Keep,
        _ => After::Close,
    }
}
