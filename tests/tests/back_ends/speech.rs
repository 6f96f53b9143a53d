//! Provides back ends of each protocol. A back end reads a request and gives the connection to the
//! test.

use mehari_harness::{eventually, PATIENCE};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

pub trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speech {
    Http,
    Https,
    Fcgi,
    Scgi,
    Uwsgi,
}

pub const ALL: [Speech; 5] = [
    Speech::Http,
    Speech::Https,
    Speech::Fcgi,
    Speech::Scgi,
    Speech::Uwsgi,
];

impl Speech {
    pub fn scheme(self) -> &'static str {
        match self {
            Speech::Http => "http",
            Speech::Https => "https",
            Speech::Fcgi => "fcgi",
            Speech::Scgi => "scgi",
            Speech::Uwsgi => "uwsgi",
        }
    }

    /// Returns a part of a response in this protocol's framing.
    pub fn part(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Speech::Fcgi => bytes
                .chunks(60_000)
                .flat_map(|part| record(6, 1, part, 0))
                .collect(),
            _ => bytes.to_vec(),
        }
    }

    /// Returns the bytes that end a response in this protocol, if there are any.
    pub fn end(self) -> Vec<u8> {
        match self {
            Speech::Fcgi => record(3, 1, &[0; 8], 0),
            _ => Vec::new(),
        }
    }

    /// Reads a whole request without a body.
    fn read(self, stream: &mut dyn Stream) -> Option<Vec<u8>> {
        let mut request = Vec::new();
        match self {
            Speech::Http | Speech::Https => {
                while !request.ends_with(b"\r\n\r\n") {
                    take(stream, 1, &mut request)?;
                }
            }
            Speech::Fcgi => loop {
                let head = take(stream, 8, &mut request)?;
                let content = u16::from_be_bytes([head[4], head[5]]);
                take(stream, usize::from(content), &mut request)?;
                if (head[1], content) == (5, 0) {
                    break;
                }
            },
            Speech::Scgi => {
                while !request.ends_with(b":") {
                    take(stream, 1, &mut request)?;
                }
                let length =
                    String::from_utf8_lossy(&request[..request.len() - 1]).parse::<usize>();
                take(stream, length.ok()? + 1, &mut request)?;
            }
            Speech::Uwsgi => {
                let head = take(stream, 4, &mut request)?;
                let length = u16::from_le_bytes([head[1], head[2]]);
                take(stream, usize::from(length), &mut request)?;
            }
        }
        Some(request)
    }
}

fn take(stream: &mut dyn Stream, count: usize, into: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).ok()?;
    into.extend_from_slice(&bytes);
    Some(bytes)
}

/// Returns a FastCGI record. The record has no padding, but may announce some.
pub fn record(kind: u8, id: u16, content: &[u8], padding: u8) -> Vec<u8> {
    let [id_high, id_low] = id.to_be_bytes();
    let [high, low] = u16::try_from(content.len()).expect("it fits").to_be_bytes();
    let mut bytes = vec![1, kind, id_high, id_low, high, low, padding, 0];
    bytes.extend_from_slice(content);
    bytes
}

type Deed = dyn Fn(&[u8], &mut dyn Stream) -> bool + Send + Sync;

/// A back end that gives each request to `deed`. The result of `deed` says whether the connection
/// stays open. The back end ends with the test.
pub struct Program {
    pub address: SocketAddr,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Program {
    pub fn start(
        speech: Speech,
        tls: Option<Arc<rustls::ServerConfig>>,
        deed: impl Fn(&[u8], &mut dyn Stream) -> bool + Send + Sync + 'static,
    ) -> Program {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let (streams, deed) = (open.clone(), Arc::new(deed) as Arc<Deed>);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let same = stream.try_clone().expect("a descriptor");
                streams.lock().expect("no panic under the lock").push(same);
                let (deed, tls) = (deed.clone(), tls.clone());
                std::thread::spawn(move || {
                    let plain = stream.try_clone().expect("a descriptor");
                    match tls {
                        None => serve(speech, &mut stream, &*deed),
                        Some(tls) => {
                            let session = rustls::ServerConnection::new(tls).expect("a session");
                            let mut stream = rustls::StreamOwned::new(session, stream);
                            serve(speech, &mut stream, &*deed);
                            stream.conn.send_close_notify();
                            let _ = stream.flush();
                        }
                    }
                    // If unread bytes were left, closing the socket would reset the connection and
                    // discard the response.
                    let _ = plain.shutdown(Shutdown::Write);
                });
            }
        });
        Program { address, open }
    }

    /// Returns whether every connection has been closed.
    pub fn is_left(&self) -> bool {
        let open = self.open.lock().expect("no panic under the lock");
        eventually(PATIENCE, || {
            open.iter().all(|stream| {
                let _ = stream.set_read_timeout(Some(std::time::Duration::from_millis(5)));
                let mut rest = [0; 65536];
                loop {
                    match (&*stream).read(&mut rest) {
                        Ok(0) => return true,
                        Ok(_) => {}
                        Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
                    }
                }
            })
        })
    }
}

fn serve(speech: Speech, stream: &mut dyn Stream, deed: &Deed) {
    while let Some(request) = speech.read(stream) {
        let goes_on = deed(&request, stream);
        let _ = stream.flush();
        if !goes_on {
            return;
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        for stream in self.open.lock().expect("no panic under the lock").iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}
