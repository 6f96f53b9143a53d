//! Tests two thousand slow clients beside normal load. Slow clients may use memory, but never a
//! worker.

use mehari_harness::crowd::Crowd;
use mehari_harness::{eventually, Request, Server, PATIENCE};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const CLIENTS: usize = 2000;
const REQUESTS: usize = 20_000;

fn server() -> Server {
    Server::builder()
        .file("scripts/page.pl", "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\n\", 'x' x 100_000;\n")
        .file("scripts/hello.pl", "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\nHello\";\n")
        .file("scripts/echo.pl", "#!/usr/bin/perl\nlocal $/; my $b = <STDIN>; print \"Content-type: text/plain\\n\\n\", length $b;\n")
        .ladder()
        .conf("StartServers 4\nMinSpareServers 4\nMaxSpareServers 4\nMaxRequestWorkers 4\nMaxConnections 4096\nWorkerQueue 4096\nWorkerQueueTimeout 120\nWorkerQueueTarget Off\n")
        .start()
}

/// Opens the slow connections. Their receive buffers are small, so that the kernel does not read
/// much for them.
fn crawl(address: SocketAddr, request: &[u8]) -> Vec<TcpStream> {
    (0..CLIENTS)
        .map(|_| {
            let mut stream = slow_stream(address);
            stream
                .write_all(request)
                .expect("a request fits the send buffer");
            stream.set_nonblocking(true).expect("a socket");
            stream
        })
        .collect()
}

fn slow_stream(address: SocketAddr) -> TcpStream {
    use rustix::net::{sockopt, AddressFamily, SocketType};
    let socket =
        rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    // The size must be set before the connection is made, because the kernel announces the window
    // then.
    sockopt::set_socket_recv_buffer_size(&socket, 4096).expect("a socket option");
    match address {
        SocketAddr::V4(v4) => rustix::net::connect_v4(&socket, &v4).expect("the server accepts"),
        SocketAddr::V6(_) => panic!("the tests listen on IPv4"),
    }
    TcpStream::from(socket)
}

/// Reads or writes about 1 kB a second on each connection until the test says to stop.
fn keep_crawling(
    streams: &mut [TcpStream],
    stop: &AtomicBool,
    step: impl Fn(&mut TcpStream) -> std::io::Result<usize>,
) -> usize {
    let mut moved = 0;
    while !stop.load(Ordering::Relaxed) {
        let round = Instant::now();
        for stream in streams.iter_mut() {
            match step(stream) {
                Ok(count) => moved += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("a slow client was cut off: {error}"),
            }
        }
        while round.elapsed() < Duration::from_secs(1) && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    moved
}

/// Runs the normal load. Returns the median and the 99th percentile of the latency.
fn normal_load(server: &Server) -> (Duration, Duration) {
    let times = std::sync::Mutex::new(Vec::with_capacity(REQUESTS));
    let begun: Vec<_> = (0..REQUESTS).map(|_| std::sync::Mutex::new(None)).collect();
    let crowd = Crowd {
        address: server.address,
        clients: 8,
        requests: REQUESTS,
        keep_alive: true,
    };
    let outcome = crowd.run(
        |number| {
            *begun[number].lock().expect("no panic under the lock") = Some(Instant::now());
            Request::get("/registry/hello.pl")
        },
        |number, answer| {
            let start = begun[number]
                .lock()
                .expect("no panic under the lock")
                .expect("it was sent");
            times
                .lock()
                .expect("no panic under the lock")
                .push(start.elapsed());
            answer.status == 200 && answer.body == b"Hello"
        },
    );
    assert_eq!(outcome.failed, 0, "{:?}", outcome.failures);
    let mut times = times.into_inner().expect("no panic under the lock");
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

fn beside(
    server: &Server,
    streams: &mut [TcpStream],
    step: impl Fn(&mut TcpStream) -> std::io::Result<usize> + Send,
) {
    let stop = AtomicBool::new(false);
    let alone = normal_load(server);
    let (beside, moved) = std::thread::scope(|scope| {
        let crawler = scope.spawn(|| keep_crawling(streams, &stop, step));
        let beside = normal_load(server);
        // In the middle of the test, no slow client may hold a worker.
        let idle = eventually(PATIENCE, || server.busy() == 0);
        assert!(idle, "slow clients hold workers: {}", server.status());
        stop.store(true, Ordering::Relaxed);
        (beside, crawler.join().expect("the crawler ends"))
    });
    println!("alone p50 {:?} p99 {:?}; beside {CLIENTS} slow clients p50 {:?} p99 {:?}; they moved {moved} bytes", alone.0, alone.1, beside.0, beside.1);
    assert!(moved > 0, "the slow clients did not move");
}

#[test]
fn clients_reading_a_kilobyte_a_second_hold_no_worker() {
    let server = server();
    let mut streams = crawl(server.address, &Request::get("/registry/page.pl").bytes());
    beside(&server, &mut streams, |stream| stream.read(&mut [0; 1000]));
    drop(streams);
}

#[test]
fn clients_sending_a_kilobyte_a_second_hold_no_worker() {
    let server = server();
    let head = b"POST /registry/echo.pl HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n";
    let mut streams = crawl(server.address, head);
    beside(&server, &mut streams, |stream| stream.write(&[b'x'; 1000]));
    drop(streams);
}
