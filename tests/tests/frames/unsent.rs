//! Tests how much memory and how many descriptors the server uses for a client that reads nothing:
//! no part of a file is in memory, little output of a program is, and one descriptor is open.

use crate::wire::*;
use mehari_harness::processes::kilobytes;
use mehari_harness::{eventually, Builder, Request, Server, PATIENCE};
use std::collections::HashMap;

const MIB: usize = 1024 * 1024;
/// A window so large that the responses never fill it.
const WIDE: u32 = 0x7fff_ffff;
const SETTINGS_INITIAL_WINDOW_SIZE: u16 = 4;

fn ask(stream: u32, path: &str) -> Vec<u8> {
    let fields = [GET[0], GET[1], (":path", path), GET[3]];
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &block(&fields))
}

/// Returns the first stream numbers of a client.
fn streams(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|number| 2 * number + 1)
}

fn widen(stream: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &(WIDE - 65_535).to_be_bytes())
}

const METRICS: &str = "<Location /metrics>\nSetHandler metrics\n</Location>\n";

/// Returns the number of bytes in the front's memory that clients have not read.
fn unsent(server: &Server) -> usize {
    let page = server.get("/metrics").expect(200);
    let mut lines = page.lines();
    let line = lines.find_map(|line| line.strip_prefix("mehari_unsent_bytes "));
    line.expect("the metric").parse().expect("a number")
}

fn resident(server: &Server) -> usize {
    kilobytes(server.pid(), "VmRSS:").expect("a process") as usize * 1024
}

/// Waits for the header section of each stream.
fn heads(client: &mut Client, count: u32) {
    for _ in 0..count {
        let head = client.until(HEADERS).expect("a head");
        assert_eq!(status(&head.payload), 200);
    }
}

/// Reads until every stream has ended. Returns the body of each stream.
fn bodies(client: &mut Client, count: u32) -> HashMap<u32, Vec<u8>> {
    let mut come = HashMap::<u32, Vec<u8>>::new();
    let mut ended = 0;
    while ended < count {
        let frame = client.read().expect("more");
        assert!(frame.kind != RST_STREAM && frame.kind != GOAWAY);
        if frame.kind == DATA {
            let body = come.entry(frame.stream).or_default();
            body.extend_from_slice(&frame.payload);
            ended += u32::from(frame.flags & END_STREAM != 0);
        }
    }
    come
}

#[test]
fn no_part_of_a_file_is_read_for_a_stream_without_a_window() {
    let server = Server::builder()
        .file("htdocs/large.bin", "")
        .conf(&format!("DocumentRoot @ROOT@/htdocs\n{METRICS}"))
        .start();
    let file = std::fs::File::create(server.site.path("htdocs/large.bin"));
    file.expect("a file").set_len(20 << 20).expect("a size");
    let before = resident(&server);
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = Client::greet(&server, &[(SETTINGS_INITIAL_WINDOW_SIZE, 0)]);
        let all: Vec<u8> = streams(100).flat_map(|n| ask(n, "/large.bin")).collect();
        client.write(&all);
        heads(&mut client, 100);
        clients.push(client);
    }
    assert_eq!(unsent(&server), 0);
    let grown = resident(&server).saturating_sub(before);
    assert!(grown < 100 * MIB, "2000 streams hold {grown} bytes");
    // A client that opens its window a little gets a little.
    clients[0].write(&frame(WINDOW_UPDATE, 0, 1, &1000_u32.to_be_bytes()));
    let piece = clients[0].until(DATA).expect("a piece");
    assert_eq!((piece.stream, piece.payload.len()), (1, 1000));
    assert_eq!(unsent(&server), 0);
}

/// Listings of folders and error pages are held in memory, as output of programs is.
#[test]
fn pages_of_the_server_are_counted_while_they_wait() {
    const STREAMS: u32 = 40;
    let server = Server::builder()
        .file("htdocs/listed/file.txt", "")
        .conf(&format!(
            "DocumentRoot @ROOT@/htdocs\n<Directory @ROOT@/htdocs/listed>\nOptions +Indexes\n</Directory>\n{METRICS}"
        ))
        .start();
    for path in ["/listed/", "/missing"] {
        let length = server.get(path).body.len();
        let mut client = Client::greet(&server, &[(SETTINGS_INITIAL_WINDOW_SIZE, 0)]);
        let all: Vec<u8> = streams(STREAMS).flat_map(|n| ask(n, path)).collect();
        client.write(&all);
        for _ in 0..STREAMS {
            client.until(HEADERS).expect("a head");
        }
        let waits = || unsent(&server) >= STREAMS as usize * length / 2;
        assert!(
            eventually(PATIENCE, waits),
            "{path}: {} bytes",
            unsent(&server)
        );
        let grants: Vec<u8> = [0]
            .into_iter()
            .chain(streams(STREAMS))
            .flat_map(widen)
            .collect();
        client.write(&grants);
        assert_eq!(bodies(&mut client, STREAMS).len(), STREAMS as usize);
        assert!(eventually(PATIENCE, || unsent(&server) == 0), "{path}");
    }
}

#[test]
fn little_is_buffered_for_a_client_with_a_large_window_that_reads_nothing() {
    const STREAMS: u32 = 60;
    let large = "0123456789".repeat(100_000);
    let server = Server::builder()
        .file("htdocs/large.txt", &large)
        .conf(&format!("DocumentRoot @ROOT@/htdocs\n{METRICS}"))
        .start();
    let mut client = Client::greet(&server, &[(SETTINGS_INITIAL_WINDOW_SIZE, WIDE)]);
    let all = streams(STREAMS).flat_map(|n| ask(n, "/large.txt"));
    let all: Vec<u8> = widen(0).into_iter().chain(all).collect();
    client.write(&all);
    let mut most = 0;
    let is_full = || {
        let held = unsent(&server);
        most = most.max(held);
        held >= MIB / 2
    };
    assert!(eventually(PATIENCE, is_full), "its socket takes it all");
    assert!(most < MIB, "{most} bytes for one connection");
    let come = bodies(&mut client, STREAMS);
    for stream in streams(STREAMS) {
        assert!(come[&stream] == large.as_bytes(), "stream {stream}");
    }
    assert!(eventually(PATIENCE, || unsent(&server) == 0));
}

#[test]
fn output_of_programs_for_a_client_that_reads_nothing_goes_to_one_file() {
    const STREAMS: u32 = 40;
    let server = Server::builder()
        .file(
            "scripts/much.pl",
            "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\n\";\n\
             print sprintf('%-10s', $ENV{QUERY_STRING}) x 10_000 for 1 .. 10;\n",
        )
        .ladder()
        .conf(&format!("StartServers 2\nMaxRequestWorkers 2\n{METRICS}"))
        .start();
    let mut client = Client::greet(&server, &[(SETTINGS_INITIAL_WINDOW_SIZE, 0)]);
    let path = |stream: u32| format!("/registry/much.pl?{stream}");
    let files = || server.descriptors().get("file").copied().unwrap_or(0);
    server.get(&path(0)).expect(200);
    let before = files();
    let all: Vec<u8> = streams(STREAMS).flat_map(|n| ask(n, &path(n))).collect();
    client.write(&all);
    heads(&mut client, STREAMS);
    assert!(
        eventually(PATIENCE, || server.busy() == 0),
        "a client that takes nothing holds no worker"
    );
    let (held, open) = (unsent(&server), files() - before);
    assert!(held < 8 * MIB, "{held} bytes of 40 MB in memory");
    assert!(open <= 1, "{open} files for one connection");
    client.write(&widen(0));
    client.write(&settings(&[(SETTINGS_INITIAL_WINDOW_SIZE, WIDE)]));
    let come = bodies(&mut client, STREAMS);
    for stream in streams(STREAMS) {
        let expected = format!("{stream:<10}").repeat(100_000);
        assert!(come[&stream] == expected.as_bytes(), "stream {stream}");
    }
    assert!(eventually(PATIENCE, || unsent(&server) == 0));
    assert!(eventually(PATIENCE, || files() == before), "it is closed");
}

/// Pages that the server makes for one request wait in memory within the limits of program output.
/// The rest waits in a file.
#[test]
fn pages_of_the_server_for_a_client_that_reads_nothing_go_to_one_file() {
    const STREAMS: u32 = 40;
    let server = site_with_pages(900_000).start();
    let files = || server.descriptors().get("file").copied().unwrap_or(0);
    let expected = server.get("/page.shtml").expect(200).to_string();
    let before = files();
    let mut client = Client::greet(&server, &[(SETTINGS_INITIAL_WINDOW_SIZE, 0)]);
    let all = streams(STREAMS).flat_map(|n| ask(n, "/page.shtml"));
    client.write(&all.collect::<Vec<u8>>());
    heads(&mut client, STREAMS);
    assert!(
        eventually(PATIENCE, || unsent(&server) < 8 * MIB),
        "{} bytes of 36 MB in memory",
        unsent(&server)
    );
    assert!(files() <= before + 1, "one file for one connection");
    client.write(&widen(0));
    client.write(&settings(&[(SETTINGS_INITIAL_WINDOW_SIZE, WIDE)]));
    let come = bodies(&mut client, STREAMS);
    for stream in streams(STREAMS) {
        assert!(come[&stream] == expected.as_bytes(), "stream {stream}");
    }
    assert!(eventually(PATIENCE, || unsent(&server) == 0));
    assert!(eventually(PATIENCE, || files() <= before), "it is closed");
}

#[test]
fn pages_of_the_server_for_clients_of_http1_that_read_nothing_go_to_files() {
    const CLIENTS: usize = 8;
    let server = site_with_pages(12_000_000).start();
    let expected = server.get("/page.shtml").expect(200).to_string();
    let files = || server.descriptors().get("file").copied().unwrap_or(0);
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.write(&Request::get("/page.shtml").bytes());
        client.fill().expect("the response begins");
    }
    let waits = || files() >= CLIENTS && unsent(&server) < CLIENTS * 3 * MIB;
    assert!(
        eventually(PATIENCE, waits),
        "{} bytes in memory, {} files",
        unsent(&server),
        files()
    );
    for client in &mut clients {
        let answer = client.read_answer("GET").expect("the whole response");
        assert!(answer.body == expected.as_bytes());
    }
    assert!(eventually(PATIENCE, || unsent(&server) == 0));
}

/// Returns a site with a page of about this length that is made for each request.
fn site_with_pages(length: usize) -> Builder {
    Server::builder()
        .file("htdocs/large.txt", &"0123456789".repeat(length / 10))
        .file("htdocs/page.shtml", "<!--#include virtual=\"large.txt\" -->")
        .conf(&format!(
            "DocumentRoot @ROOT@/htdocs\n<Files *.shtml>\nOptions +Includes\nSetOutputFilter INCLUDES\n</Files>\n{METRICS}"
        ))
}
