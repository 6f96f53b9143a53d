//! Tests the progress of uploads in both old formats and in JSON, and slow uploads by slowhttptest
//! while other requests are served.

use mehari_harness::scripts::{plain, simple, workers};
use mehari_harness::{eventually, needs, Request, Server, PATIENCE};
use std::process::Command;
use std::time::Duration;

const ID: &str = "0123456789abcdef0123456789abcdef";

fn start(conf: &str) -> Server {
    let place = |path: &str, handler: &str| {
        format!("<Location {path}>\nSetHandler {handler}\n</Location>\n")
    };
    simple(4)
        .conf("<Location /registry>\nTrackUploads On\nLimitRequestBody 5000000\n</Location>\n")
        .conf(&place("/progress", "upload-progress"))
        .conf(&place("/progress.xml", "upload-progress-xml"))
        .conf(&place("/progress.json", "upload-progress-json"))
        .conf(conf)
        .start()
}

#[test]
fn progress_of_an_upload_is_reported_in_every_format() {
    let server = start("");
    let ask = |path: &str| {
        server
            .send(&Request::get(path).field("X-Progress-ID", ID))
            .expect(200)
    };
    assert_eq!(ask("/progress"), "new Object({ 'state' : 'starting' })\r\n");
    let size = 1_000_000;
    let mut upload = server.connect();
    let head = format!("POST /registry/echo.pl?X-Progress-ID={ID} HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n");
    upload.write(head.as_bytes()).write(&vec![b'x'; 400_000]);
    let half = "{\"state\":\"uploading\",\"received\":400000,\"size\":1000000}\n";
    assert!(
        eventually(PATIENCE, || ask("/progress.json") == half),
        "{}",
        ask("/progress.json")
    );
    assert_eq!(
        ask("/progress"),
        "new Object({ 'state' : 'uploading', 'received' : 400000, 'size' : 1000000})\r\n"
    );
    assert_eq!(ask("/progress.xml"), "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><upload><size>1000000</size><received>400000</received></upload>");
    assert_eq!(
        server.get(&format!("/progress.json?{ID}")).expect(200),
        half
    );
    upload.write(&vec![b'x'; size - 400_000]);
    let answer = upload.read_answer("POST").expect("an answer");
    assert_eq!(answer.body.len(), size);
    assert!(eventually(PATIENCE, || ask("/progress")
        == "new Object({ 'state' : 'done', 'size' : 1000000})\r\n"));
    let mut large = server.connect();
    large.write(b"POST /registry/echo.pl HTTP/1.1\r\nHost: x\r\nX-Progress-ID: other\r\nContent-Length: 9000000\r\n\r\n");
    large.read_answer("POST").expect("an answer").expect(413);
    let asked = Request::get("/progress").field("X-Progress-ID", "other");
    assert_eq!(
        server.send(&asked).expect(200),
        "new Object({ 'state' : 'error', 'status' : 413})\r\n"
    );
    server.get("/progress").expect(400);
}

#[test]
fn slow_clients_of_every_kind_are_closed_and_delay_no_other_client() {
    needs!("slowhttptest");
    let tool = "/usr/bin/slowhttptest";
    assert!(
        std::path::Path::new(tool).exists(),
        "slowhttptest is missing: packaging/install-needs test"
    );
    let server = start("RequestReadTimeout header=1 body=1\nTimeout 2\nKeepAliveTimeout 1\n");
    server
        .site
        .write("htdocs/large.bin", &"x".repeat(3_000_000));
    let url = |path: &str| format!("http://{}{path}", server.address);
    // The modes are slow heads, slow bodies and slow reading. Every tenth of a second another
    // client sends a request.
    for (mode, path) in [
        (&["-H", "-i", "1"][..], "/large.bin"),
        (&["-B", "-i", "1"], "/registry/echo.pl"),
        (
            &[
                "-X", "-n", "1", "-w", "512", "-y", "1024", "-z", "32", "-k", "1",
            ],
            "/large.bin",
        ),
    ] {
        let mut slow = Command::new(tool)
            .args(mode)
            .args(["-c", "50", "-r", "200", "-l", "2", "-p", "1", "-u"])
            .arg(url(path))
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("slowhttptest runs");
        while slow.try_wait().expect("our child").is_none() {
            server.get("/registry/hello.pl").expect(200);
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let ended = eventually(PATIENCE, || {
            server.status()["front"]["open_connections"] == 0
        });
        assert!(ended, "{mode:?}: {}", server.status()["front"]);
    }
}

/// Uploads that wait behind slow requests are taken back with their files. A worker that has not
/// taken such a file must still notice that it is not needed any more.
#[test]
fn worker_ends_although_an_upload_was_taken_back_from_it() {
    let server = Server::builder()
        .ladder()
        .conf(&workers(2))
        .file(
            "scripts/slow.pl",
            &plain("select undef, undef, undef, 0.3; print 'slow';"),
        )
        .file("scripts/size.pl", &plain("print length join '', <STDIN>;"))
        .start();
    let before = server.workers();
    let server_of = &server;
    let body = vec![b'x'; 300_000];
    for _ in 0..3 {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| server.get("/registry/slow.pl").expect(200));
            }
            std::thread::sleep(Duration::from_millis(50));
            for _ in 0..4 {
                let upload = Request::post("/registry/size.pl", body.clone());
                scope.spawn(move || assert_eq!(server_of.send(&upload).expect(200), "300000"));
            }
        });
    }
    assert!(server.control(&["reload"]).status.success());
    let are_gone = || server.workers().iter().all(|pid| !before.contains(pid));
    assert!(eventually(PATIENCE, are_gone), "{before:?} are still there");
}
