//! Clients that ask a server over TLS without a pause: each request on its own connection, many on
//! one connection, HTTP/2. Every response must be whole and right.

use super::client::Client;
use mehari_harness::{Server, PATIENCE};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

const PAGE: &str = "a page";
/// The requests on one connection of a client that keeps it.
const KEPT: usize = 40;

/// What the clients have seen.
#[derive(Default)]
pub struct Sightings {
    pub alone: usize,
    pub kept: usize,
    pub http2: usize,
    pub failures: Vec<String>,
    /// The certificates, in DER.
    pub certificates: BTreeSet<Vec<u8>>,
}

/// Runs the clients while `during` runs.
pub fn around(server: &Server, during: impl FnOnce()) -> Sightings {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let run = |client: fn(&Server, &mut Sightings) -> Result<(), String>| {
            let is_over = &is_over;
            scope.spawn(move || {
                let mut seen = Sightings::default();
                while !is_over.load(Ordering::Relaxed) {
                    if let Err(failure) = client(server, &mut seen) {
                        seen.failures.push(failure);
                    }
                }
                seen
            })
        };
        let clients = [run(alone), run(kept), run(kept_tls12), run(http2)];
        // The clients end too if `during` panics.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(during));
        is_over.store(true, Ordering::Relaxed);
        let mut all = Sightings::default();
        for client in clients {
            let seen = client.join().expect("no panic");
            all.alone += seen.alone;
            all.kept += seen.kept;
            all.http2 += seen.http2;
            all.failures.extend(seen.failures);
            all.certificates.extend(seen.certificates);
        }
        if let Err(panic) = done {
            std::panic::resume_unwind(panic);
        }
        all
    })
}

fn note_certificate(connection: &ClientConnection, seen: &mut Sightings) {
    let shown = connection.peer_certificates();
    let shown = shown.and_then(|chain| chain.first());
    seen.certificates.extend(shown.map(|one| one.to_vec()));
}

fn alone(server: &Server, seen: &mut Sightings) -> Result<(), String> {
    let asked = Client::plain().ask(server, "/page.html");
    let (text, connection) = asked.map_err(|error| format!("a new connection: {error}"))?;
    if !text.starts_with("HTTP/1.1 200 ") || !text.ends_with(PAGE) {
        return Err(text);
    }
    note_certificate(&connection, seen);
    seen.alone += 1;
    Ok(())
}

fn kept(server: &Server, seen: &mut Sightings) -> Result<(), String> {
    let client = Client::plain();
    keep(client, server, seen).map_err(|error| format!("a kept connection: {error}"))
}

fn kept_tls12(server: &Server, seen: &mut Sightings) -> Result<(), String> {
    let client = Client::new(&[&rustls::version::TLS12], None);
    keep(client, server, seen).map_err(|error| format!("a kept connection of TLS 1.2: {error}"))
}

fn keep(client: Client, server: &Server, seen: &mut Sightings) -> std::io::Result<()> {
    let name = ServerName::try_from("site.example").expect("a name");
    let connection = ClientConnection::new(Arc::new(client.0), name).expect("a client");
    let socket = TcpStream::connect(server.address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut stream = BufReader::new(StreamOwned::new(connection, socket));
    for number in 1..=KEPT {
        let field = if number == KEPT {
            "Connection: close\r\n"
        } else {
            ""
        };
        let request = format!("GET /page.html HTTP/1.1\r\nHost: site.example\r\n{field}\r\n");
        stream.get_mut().write_all(request.as_bytes())?;
        read_page(&mut stream)?;
        seen.kept += 1;
    }
    note_certificate(&stream.get_ref().conn, seen);
    Ok(())
}

/// Reads one response, which must have the page.
fn read_page(stream: &mut impl BufRead) -> std::io::Result<()> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    let mut body = vec![0; PAGE.len()];
    stream.read_exact(&mut body)?;
    let length = format!("content-length: {}\r\n", PAGE.len());
    let is_right = head.starts_with("HTTP/1.1 200 ")
        && head.to_ascii_lowercase().contains(&length)
        && body == PAGE.as_bytes();
    is_right
        .then_some(())
        .ok_or_else(|| std::io::Error::other(head))
}

/// Sends twenty requests on one connection of HTTP/2.
fn http2(server: &Server, seen: &mut Sightings) -> Result<(), String> {
    let port = server.port();
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--insecure", "--http2"]);
    command.args(["--resolve", &format!("site.example:{port}:127.0.0.1")]);
    command.args([
        "--write-out",
        " %{http_code} HTTP/%{http_version} %{num_connects}\n",
    ]);
    command.arg(format!("https://site.example:{port}/page.html?[1-20]"));
    let output = command.output().map_err(|error| format!("curl: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let is_right = |line: &&str| line.starts_with(&format!("{PAGE} 200 HTTP/2 "));
    let right = text.lines().filter(is_right).count();
    seen.http2 += right;
    if right != 20 || !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("curl: {right} of 20: {error}{text}"));
    }
    Ok(())
}
