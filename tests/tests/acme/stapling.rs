//! Tests OCSP with a responder that signs as Pebble's intermediate authority.

use super::authority::{free_ports, Authority, Plan};
use super::{site, wait_for_certificates, IN_USE};
use mehari_harness::{eventually, needs, Server, PATIENCE};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// What the responder says.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    Good,
    Revoked,
    /// A response that another authority has signed.
    Forged,
    Nothing,
}

/// A responder that answers until the test ends.
struct Responder {
    says: Arc<Mutex<Says>>,
    port: u16,
}

impl Responder {
    fn start(folder: &Path) -> Responder {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let says = Arc::new(Mutex::new(Says::Good));
        let (folder, shared) = (folder.to_path_buf(), says.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let says = *shared.lock().expect("no panic");
                answer(stream, &folder, says);
            }
        });
        Responder { says, port }
    }

    fn say(&self, says: Says) {
        *self.says.lock().expect("no panic") = says;
    }
}

/// Answers one request for the status of a certificate.
fn answer(mut stream: TcpStream, folder: &Path, says: Says) {
    let mut reader = BufReader::new(stream.try_clone().expect("a copy"));
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
    assert!(head.contains("application/ocsp-request"), "{head}");
    let field = "content-length: ";
    let head = head.to_ascii_lowercase();
    let length = head
        .split(field)
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.and_then(|text| text.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).expect("a body");
    let response = match says {
        Says::Nothing => None,
        _ => Some(signed(folder, &body, says)),
    };
    let head = match &response {
        None => "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".to_owned(),
        Some(body) => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()),
    };
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&response.unwrap_or_default());
}

/// Has OpenSSL sign a response that ends in a minute.
fn signed(folder: &Path, request: &[u8], says: Says) -> Vec<u8> {
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::write(path("request.der"), request).expect("written");
    let text = openssl(&["ocsp", "-reqin", &path("request.der"), "-req_text"]);
    let serial = text.split("Serial Number: ").nth(1);
    let serial = serial
        .and_then(|rest| rest.lines().next())
        .expect("a serial number");
    let line = match says {
        Says::Revoked => format!("R\t391231235959Z\t200101000000Z\t{serial}\tunknown\t/CN=x\n"),
        _ => format!("V\t391231235959Z\t\t{serial}\tunknown\t/CN=x\n"),
    };
    std::fs::write(path("index.txt"), line).expect("written");
    let signer = if says == Says::Forged { "forger" } else { "ca" };
    let (certificate, key) = (
        path(&format!("{signer}.pem")),
        path(&format!("{signer}.key")),
    );
    openssl(&[
        "ocsp",
        "-index",
        &path("index.txt"),
        "-CA",
        &path("ca.pem"),
        "-rsigner",
        &certificate,
        "-rkey",
        &key,
        "-reqin",
        &path("request.der"),
        "-respout",
        &path("response.der"),
        "-nmin",
        "1",
    ]);
    std::fs::read(path("response.der")).expect("a response")
}

fn openssl(words: &[&str]) -> String {
    let output = Command::new("openssl").args(words).output();
    let output = output.expect("openssl can be run (packaging/needs/test)");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {words:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns what a client finds in the stapled response, as OpenSSL shows it.
fn stapled(server: &Server) -> String {
    let address = server.address.to_string();
    let mut command = Command::new("openssl");
    command.args([
        "s_client",
        "-status",
        "-servername",
        "site.example",
        "-connect",
        &address,
    ]);
    let output = command
        .stdin(std::process::Stdio::null())
        .output()
        .expect("openssl");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn is_stapled(server: &Server) -> bool {
    stapled(server).contains("Cert Status: good")
}

/// Starts a server with `MDStapling on`, an authority and its responder.
fn start(folder: &Path) -> (Authority, Responder, Server, String) {
    let [http, tls] = free_ports();
    let responder = Responder::start(folder);
    let authority = Authority::start(Plan {
        responder: format!("http://127.0.0.1:{}/ocsp", responder.port),
        ..Plan::of(http, tls)
    });
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("written");
    };
    write("ca.pem", &authority.managed("/intermediates/0"));
    write("ca.key", &authority.managed("/intermediate-keys/0"));
    let forger = super::pair::Pair::authority();
    write("forger.pem", &forger.certificate.pem());
    write("forger.key", &forger.key.serialize_pem());
    let conf = authority.conf(&folder.join("md")) + "MDStapling on\nMDStaplingRenewWindow 54s\n";
    let server = site(http, tls, &conf).start();
    (authority, responder, server, conf)
}

#[test]
fn ocsp_response_is_stapled_kept_and_verified() {
    needs!("pebble", "openssl", "curl");
    let folder = tempfile::tempdir().expect("a folder");
    let (_authority, responder, server, _) = start(folder.path());
    assert!(
        eventually(PATIENCE, || is_stapled(&server)),
        "{}",
        server.log.text()
    );
    let until = &server.status()["managed"][0]["stapled_until"];
    assert!(until.is_u64(), "{until}");
    // What comes next cannot be used, and the response in use stays.
    responder.say(Says::Forged);
    server.log.expect("OCSP: http://127.0.0.1:");
    server
        .log
        .expect("the response is not signed by the issuer of the certificate; the next try");
    assert!(is_stapled(&server));
    responder.say(Says::Nothing);
    server.log.expect("the responder answers 503");
    assert!(is_stapled(&server));
    assert_eq!(server.log.count(IN_USE), 1);
}

#[test]
fn certificate_that_its_responder_calls_revoked_is_replaced() {
    needs!("pebble", "openssl", "curl");
    let folder = tempfile::tempdir().expect("a folder");
    let (_authority, responder, server, _) = start(folder.path());
    assert!(
        eventually(PATIENCE, || is_stapled(&server)),
        "{}",
        server.log.text()
    );
    responder.say(Says::Revoked);
    server
        .log
        .expect("the authority has revoked the certificate");
    responder.say(Says::Good);
    wait_for_certificates(&server, 2);
    assert!(
        eventually(PATIENCE, || is_stapled(&server)),
        "{}",
        server.log.text()
    );
    assert!(server.status()["managed"][0]["revoking"].is_null());
}

#[test]
fn stored_response_is_used_after_a_restart_without_the_responder() {
    needs!("pebble", "openssl", "curl");
    let folder = tempfile::tempdir().expect("a folder");
    let (mut authority, responder, server, conf) = start(folder.path());
    assert!(
        eventually(PATIENCE, || is_stapled(&server)),
        "{}",
        server.log.text()
    );
    drop(server);
    responder.say(Says::Nothing);
    authority.stop();
    let [http, tls] = free_ports();
    let server = site(http, tls, &conf).start();
    assert!(is_stapled(&server), "{}", server.log.text());
}

#[test]
fn certificate_without_a_responder_is_told_once() {
    needs!("pebble", "curl", "openssl");
    let [http, tls] = free_ports();
    let folder = tempfile::tempdir().expect("a folder");
    let authority = Authority::start(Plan::of(http, tls));
    let conf = authority.conf(&folder.path().join("md")) + "MDStapling on\n";
    let server = site(http, tls, &conf).start();
    server.log.expect(IN_USE);
    assert_eq!(
        server
            .log
            .count("names no OCSP responder, so MDStapling has no effect"),
        1
    );
}
