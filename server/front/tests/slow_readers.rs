//! Tests clients that read more slowly than programs write. No worker waits for such a client, the
//! waiting data do not fill the memory, and no byte is lost.

mod stand;

use stand::client::{eventually, Client};
use stand::pool::flood;
use stand::Stand;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};

/// The tests measure the whole process, so they run one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The number of pieces of 64 KiB in a response.
const PIECES: u64 = 50 * 16;

/// Returns the number of unlinked files that this process has open.
fn unlinked_files() -> usize {
    let descriptors = std::fs::read_dir("/proc/self/fd").expect("proc");
    let links = descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let unlinked = |link: &std::path::PathBuf| {
        let link = link.to_string_lossy();
        link.ends_with("(deleted)") && !link.contains("memfd")
    };
    links.filter(unlinked).count()
}

/// Returns the bytes of this process's anonymous memory.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("proc");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let digits = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    digits
        .and_then(|kib| kib.parse::<usize>().ok())
        .expect("a number")
        * 1024
}

fn is_free(stand: &Stand, workers: usize) -> bool {
    stand.freed.load(Ordering::SeqCst) == workers
}

fn ask(client: &mut Client, pieces: u64, version: &str) {
    client.send(format!(
        "GET /flood.pl?pieces={pieces} HTTP/{version}\r\nHost: a\r\n\r\n"
    ));
}

fn assert_flood(body: &[u8], pieces: u64) {
    assert_eq!(body.len() as u64, pieces * 65536);
    for (number, piece) in body.chunks(65536).enumerate() {
        assert!(
            piece == flood(number as u64),
            "piece {number} is not what was said"
        );
    }
}

#[test]
fn fifty_mebibytes_wait_for_their_client_in_a_file() {
    let _alone = alone();
    let stand = Stand::plain();
    for version in ["1.1", "1.0"] {
        let freed = stand.freed.load(Ordering::SeqCst);
        let mut client = stand.client();
        ask(&mut client, PIECES, version);
        eventually("the worker is free", || is_free(&stand, freed + 1));
        assert_eq!(unlinked_files(), 1);
        assert_eq!(stand.stats().active_requests, 1);
        assert_flood(&client.response(false).body, PIECES);
        eventually("the file is gone", || unlinked_files() == 0);
    }
}

#[test]
fn a_client_that_goes_leaves_no_file() {
    let _alone = alone();
    let stand = Stand::plain();
    let mut client = stand.client();
    ask(&mut client, PIECES, "1.1");
    eventually("the worker is free", || is_free(&stand, 1));
    assert_eq!(unlinked_files(), 1);
    drop(client);
    eventually("the file is gone", || unlinked_files() == 0);
    eventually("it ends", || stand.stats().active_requests == 0);
}

#[test]
fn a_closed_window_of_http2_holds_no_worker() {
    let _alone = alone();
    let stand = Stand::plain();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let socket = tokio::net::TcpStream::connect(stand.address)
            .await
            .expect("it listens");
        socket.set_nodelay(true).expect("a socket");
        let (sender, connection) = h2::client::handshake(socket).await.expect("HTTP/2");
        tokio::spawn(connection);
        let uri = format!("http://front.example/flood.pl?pieces={PIECES}");
        let request = http::Request::get(uri).body(()).expect("a request");
        let mut sender = sender.ready().await.expect("open");
        let (response, _) = sender.send_request(request, true).expect("sent");
        let mut stream = response.await.expect("a response").into_body();
        eventually("the worker is free", || is_free(&stand, 1));
        assert_eq!(unlinked_files(), 1);
        let mut body = Vec::new();
        while let Some(piece) = stream.data().await {
            let piece = piece.expect("a body");
            stream
                .flow_control()
                .release_capacity(piece.len())
                .expect("open");
            body.extend_from_slice(&piece);
        }
        assert_flood(&body, PIECES);
    });
    eventually("the file is gone", || unlinked_files() == 0);
}

#[test]
fn two_hundred_slow_clients_stay_within_a_bound_of_memory() {
    const CLIENTS: usize = 200;
    const EACH: u64 = 3 * 16;
    const BOUND: usize = 400 << 20;
    let _alone = alone();
    let stand = Stand::plain();
    let before = memory();
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| stand.client()).collect();
    for client in &mut clients {
        ask(client, EACH, "1.1");
    }
    eventually("all workers are free", || {
        assert!(
            memory() < before + BOUND,
            "{} bytes of memory",
            memory() - before
        );
        is_free(&stand, CLIENTS)
    });
    for client in &mut clients {
        assert_flood(&client.response(false).body, EACH);
    }
    drop(clients);
    eventually("the files are gone", || unlinked_files() == 0);
}
