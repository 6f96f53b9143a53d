//! Runs a server whose behaviour is known, for the tests of this folder. The path of a request
//! selects the behaviour. Each answer says when the server read the request and wrote the answer,
//! on the monotonic clock.
//!
//! `/?us=2000` answers after 2 ms. `&frozen=PERIOD/PART` stops all answers during the last PART
//! milliseconds of each PERIOD since the server's start. `&status=503` changes the status.
//! `&end=reset|short|hang` breaks the answer off. `&body=N` adds N bytes.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use mehari_load::{Failure, FailureKind, ObservedExchange, Observer, Sample, SessionEnd};

/// The server's own counts.
#[derive(Debug, Default)]
pub struct Log {
    pub connections: AtomicU64,
    pub answered: AtomicU64,
    pub unavailable: AtomicU64,
    pub resets: AtomicU64,
    pub shorts: AtomicU64,
    pub hangs: AtomicU64,
    /// The received cookie fields.
    pub cookies: Mutex<Vec<String>>,
    pub longest_write_ns: AtomicU64,
    pub peers: Mutex<Vec<SocketAddr>>,
}

pub struct Server {
    pub address: SocketAddr,
    pub log: Arc<Log>,
}

impl Server {
    pub fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let log = Arc::new(Log::default());
        let (shared, began) = (Arc::clone(&log), Instant::now());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let log = Arc::clone(&shared);
                std::thread::Builder::new()
                    .stack_size(128 * 1024)
                    .spawn(move || drop(serve(stream, &log, began)))
                    .expect("a thread");
            }
        });
        Server { address, log }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// Returns the value of one parameter of a path.
fn parameter<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = path.split_once('?')?;
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn number(path: &str, name: &str) -> u64 {
    parameter(path, name)
        .and_then(|value| value.parse().ok())
        .unwrap_or(0)
}

fn serve(stream: TcpStream, log: &Log, began: Instant) -> std::io::Result<()> {
    log.connections.fetch_add(1, Ordering::Relaxed);
    log.peers.lock().expect("a lock").push(stream.peer_addr()?);
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut path = String::new();
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 && line != "\r\n" {
            if path.is_empty() {
                path = line.split(' ').nth(1).unwrap_or_default().to_string();
            }
            if let Some(cookies) = line.strip_prefix("Cookie: ") {
                log.cookies
                    .lock()
                    .expect("a lock")
                    .push(cookies.trim().to_string());
            }
            line.clear();
        }
        if path.is_empty() {
            return Ok(());
        }
        let read = monotonic();
        hold(&path, began);
        match parameter(&path, "end") {
            Some("reset") => {
                log.resets.fetch_add(1, Ordering::Relaxed);
                return reset(&stream);
            }
            Some("short") => {
                log.shorts.fetch_add(1, Ordering::Relaxed);
                return stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
            }
            Some("hang") => {
                log.hangs.fetch_add(1, Ordering::Relaxed);
                return reader.read(&mut [0]).map(drop);
            }
            _ => answer(&mut stream, &path, read, log)?,
        }
    }
}

fn hold(path: &str, began: Instant) {
    let mut until = Instant::now() + Duration::from_micros(number(path, "us"));
    if let Some((period, part)) = parameter(path, "frozen").and_then(|value| value.split_once('/'))
    {
        let (period, part) = (period.parse().expect("ms"), part.parse().expect("ms"));
        until = thaw(
            until,
            began,
            Duration::from_millis(period),
            Duration::from_millis(part),
        );
    }
    // A sleep may end late by the timer's slack, so the last part is a busy wait.
    let slack = Duration::from_micros(80);
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        if left > slack {
            std::thread::sleep(left - slack)
        } else {
            std::hint::spin_loop()
        }
    }
}

/// If `at` lies in a freeze, returns the end of the freeze, otherwise `at`. The last `part` of each
/// `period` is a freeze.
fn thaw(at: Instant, began: Instant, period: Duration, part: Duration) -> Instant {
    let passed = (at - began).as_nanos();
    let within = passed % period.as_nanos();
    if within >= (period - part).as_nanos() {
        at + Duration::from_nanos((period.as_nanos() - within) as u64)
    } else {
        at
    }
}

fn answer(stream: &mut TcpStream, path: &str, read: u64, log: &Log) -> std::io::Result<()> {
    let status = number(path, "status").max(200);
    let cookie =
        parameter(path, "cookie").map_or(String::new(), |pair| format!("Set-Cookie: {pair}\r\n"));
    let times = format!("{read:020} {:020}", monotonic());
    let extra = vec![b'x'; number(path, "body") as usize];
    let length = times.len() + extra.len();
    let mut bytes = format!(
        "HTTP/1.1 {status} X\r\nServer: known\r\n{cookie}Content-Length: {length}\r\n\r\n{times}"
    )
    .into_bytes();
    bytes.extend_from_slice(&extra);
    let counter = if status == 503 {
        &log.unavailable
    } else {
        &log.answered
    };
    counter.fetch_add(1, Ordering::Relaxed);
    let before = monotonic();
    stream.write_all(&bytes)?;
    log.longest_write_ns
        .fetch_max(monotonic() - before, Ordering::Relaxed);
    Ok(())
}

fn reset(stream: &TcpStream) -> std::io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_linger(
        stream,
        Some(Duration::ZERO),
    )?)
}

pub fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// One answered request with the times that the server reported.
#[derive(Clone, Copy, Debug)]
pub struct VerifiedSample {
    pub sample: Sample,
    /// When the server read the request and wrote the answer, in nanoseconds since the run's
    /// origin.
    pub read: u64,
    pub wrote: u64,
}

impl VerifiedSample {
    /// Returns the response time by the server's clock. The measured time must not be shorter.
    pub fn true_response(&self) -> u64 {
        self.wrote.saturating_sub(self.sample.intended.0)
    }

    pub fn true_service(&self) -> u64 {
        self.wrote - self.read
    }
}

/// An observer that stores every event and also passes it to the recorder under test.
pub struct Both {
    pub recorder: mehari_load::Recorder,
    pub known: Vec<VerifiedSample>,
    pub failures: Vec<Failure>,
    pub sessions: Vec<SessionEnd>,
    body: Vec<u8>,
    origin: u64,
}

impl Both {
    pub fn new() -> Both {
        Both {
            recorder: mehari_load::Recorder::new(mehari_load::Moment::NEVER),
            known: Vec::new(),
            failures: Vec::new(),
            sessions: Vec::new(),
            body: Vec::new(),
            origin: 0,
        }
    }

    pub fn count(&self, kind: FailureKind) -> u64 {
        self.failures
            .iter()
            .filter(|failure| failure.kind == kind)
            .count() as u64
    }
}

impl Observer for Both {
    fn begins(&mut self, origin: SystemTime) {
        // The reads of both clocks are repeated until they lie within 5 µs, because the thread may
        // be preempted between them.
        self.origin = loop {
            let before = monotonic();
            let ahead = origin.duration_since(SystemTime::now()).unwrap_or_default();
            if monotonic() - before < 5_000 {
                break before + ahead.as_nanos() as u64;
            }
        };
        self.recorder.begins(origin);
    }

    fn head(&mut self, exchange: &ObservedExchange, head: &[u8]) {
        self.body.clear();
        self.recorder.head(exchange, head);
    }

    fn body(&mut self, _exchange: &ObservedExchange, piece: &[u8]) {
        let room = 41usize.saturating_sub(self.body.len());
        self.body.extend_from_slice(&piece[..room.min(piece.len())]);
    }

    fn completed(&mut self, sample: &Sample) {
        let text = std::str::from_utf8(&self.body).expect("digits");
        let (read, wrote) = text.split_once(' ').expect("two times");
        let since = |text: &str| {
            text.parse::<u64>()
                .expect("digits")
                .saturating_sub(self.origin)
        };
        self.known.push(VerifiedSample {
            sample: *sample,
            read: since(read),
            wrote: since(wrote),
        });
        self.recorder.completed(sample);
    }

    fn failed(&mut self, failure: &Failure) {
        self.failures.push(*failure);
        self.recorder.failed(failure);
    }

    fn session_ended(&mut self, end: &SessionEnd) {
        self.sessions.push(*end);
    }
}

/// Returns the value at a percentile of exact values, by nearest rank.
pub fn percentile(values: &mut [u64], percent: f64) -> u64 {
    values.sort_unstable();
    let rank = (values.len() as f64 * percent / 100.0).ceil().max(1.0) as usize;
    values[rank - 1]
}
