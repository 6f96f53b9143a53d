//! Serves as a back end for the server under test. It reads whole requests, and the test chooses
//! the responses.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A received request: its head as text, and its body.
pub struct ReceivedRequest {
    pub head: String,
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    /// Returns the value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

type Answering = dyn Fn(ReceivedRequest, &mut TcpStream) -> bool + Send + Sync;

/// A back end that listens until it is dropped. Each connection has a thread.
pub struct BackEnd {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
    stopping: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    listening: Option<std::thread::JoinHandle<()>>,
}

impl BackEnd {
    /// Starts a back end. `answer` gets each request and returns whether the connection stays open.
    pub fn start(
        answer: impl Fn(ReceivedRequest, &mut TcpStream) -> bool + Send + Sync + 'static,
    ) -> BackEnd {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        BackEnd::on(listener, answer)
    }

    /// Starts a back end at the address of an earlier one.
    pub fn at(
        address: SocketAddr,
        answer: impl Fn(ReceivedRequest, &mut TcpStream) -> bool + Send + Sync + 'static,
    ) -> BackEnd {
        let mut listener = None;
        crate::eventually(crate::PATIENCE, || {
            listener = TcpListener::bind(address).ok();
            listener.is_some()
        });
        BackEnd::on(listener.expect("the port is free again"), answer)
    }

    /// Starts a back end that sends the same bytes to every client and closes the connection.
    pub fn saying(answer: &'static [u8]) -> BackEnd {
        BackEnd::start(move |_, stream| {
            let _ = stream.write_all(answer);
            false
        })
    }

    fn on(
        listener: TcpListener,
        answer: impl Fn(ReceivedRequest, &mut TcpStream) -> bool + Send + Sync + 'static,
    ) -> BackEnd {
        let address = listener.local_addr().expect("bound");
        let connections = Arc::new(AtomicUsize::new(0));
        let stopping = Arc::new(AtomicBool::new(false));
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let answer: Arc<Answering> = Arc::new(answer);
        let (counted, stop, streams) = (connections.clone(), stopping.clone(), open.clone());
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                counted.fetch_add(1, Ordering::Relaxed);
                if let Ok(same) = stream.try_clone() {
                    streams.lock().expect("no panic under the lock").push(same);
                }
                let answer = answer.clone();
                std::thread::spawn(move || serve(stream, &*answer));
            }
        });
        BackEnd {
            address,
            connections,
            stopping,
            open,
            listening: Some(listening),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for BackEnd {
    /// Closes the listener and every connection, as the kernel does for a killed process.
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
        for stream in self.open.lock().expect("no panic under the lock").iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn serve(mut stream: TcpStream, answer: &Answering) {
    let mut bytes = Vec::new();
    while let Some(heard) = read(&mut stream, &mut bytes) {
        if !answer(heard, &mut stream) {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn read(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<ReceivedRequest> {
    let end = loop {
        match crate::head::position(bytes, b"\r\n\r\n") {
            Some(at) => break at + 4,
            None => fill(stream, bytes)?,
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    bytes.drain(..end);
    let mut heard = ReceivedRequest {
        head,
        body: Vec::new(),
    };
    let length = heard.field("content-length");
    let length: usize = length.map_or(Some(0), |length| length.parse().ok())?;
    while bytes.len() < length {
        fill(stream, bytes)?;
    }
    heard.body = bytes.drain(..length).collect();
    Some(heard)
}

fn fill(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    let mut piece = [0; 65536];
    match stream.read(&mut piece) {
        Ok(count) if count > 0 => bytes.extend_from_slice(&piece[..count]),
        _ => return None,
    }
    Some(())
}

/// Returns a 200 response with a Content-Length.
pub fn answer(text: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    )
    .into_bytes()
}
