//! Recording and replaying over real sockets, against a small site that hands out a fresh session
//! cookie at each login and knows no other.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use mehari_record::session::har::{decode, Archive, Entry};
use mehari_record::session::replay::{play, Checks, Report, Settings};
use mehari_record::session::{proxy, Target, Trust};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

#[derive(Default)]
struct Site {
    logins: AtomicU64,
    live: Mutex<HashSet<String>>,
    /// `Host`, `Referer` and `Origin` as they arrived.
    addressed: Mutex<Vec<String>>,
    times: Mutex<Vec<(String, Instant)>>,
    broken: std::sync::atomic::AtomicBool,
}

fn field<'a>(request: &'a Request<Incoming>, name: &str) -> &'a str {
    request
        .headers()
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

fn answer(status: u16, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status.try_into().unwrap();
    response
}

impl Site {
    async fn answer(self: Arc<Site>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        self.times
            .lock()
            .unwrap()
            .push((path.clone(), Instant::now()));
        for name in ["host", "referer", "origin"] {
            let value = field(&request, name).to_owned();
            self.addressed.lock().unwrap().push(value);
        }
        match path.as_str() {
            "/login" => {
                let id = format!("s{}", self.logins.fetch_add(1, Ordering::SeqCst));
                self.live.lock().unwrap().insert(id.clone());
                let mut response = answer(302, "");
                let location = format!("http://{}/home", field(&request, "host"));
                let headers = response.headers_mut();
                headers.insert("location", location.parse().unwrap());
                let cookie = format!("id={id}; Path=/; Domain=127.0.0.1; HttpOnly");
                headers.append("set-cookie", cookie.parse().unwrap());
                headers.append("set-cookie", "seen=1; Path=/".parse().unwrap());
                response
            }
            "/home" => {
                let cookie = field(&request, "cookie");
                let known = cookie.split("; ").any(|pair| {
                    let id = pair.strip_prefix("id=").unwrap_or("");
                    self.live.lock().unwrap().contains(id)
                });
                match known && cookie.contains("theme=dark") {
                    true => answer(200, "home"),
                    false => answer(403, format!("not known: {cookie}")),
                }
            }
            "/echo" => answer(200, request.into_body().collect().await.unwrap().to_bytes()),
            "/slow" => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                answer(200, "slow")
            }
            "/news" if self.broken.load(Ordering::SeqCst) => answer(500, "broken"),
            "/news" => answer(200, "news"),
            "/large" => answer(200, vec![b'x'; 300_000]),
            _ => answer(404, "nothing here"),
        }
    }
}

async fn site() -> (Arc<Site>, SocketAddr) {
    let site = Arc::new(Site::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = site.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let site = served.clone();
            let service = service_fn(move |request| {
                let site = site.clone();
                async move { Ok::<_, hyper::Error>(site.answer(request).await) }
            });
            tokio::spawn(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    (site, address)
}

struct Recording {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    entries: tokio::task::JoinHandle<Vec<Entry>>,
}

async fn record(to: SocketAddr, body_limit: usize) -> Recording {
    record_with(proxy::Settings {
        target: format!("http://{to}").parse().unwrap(),
        trust: Trust::new(false),
        body_limit,
    })
    .await
}

async fn record_with(settings: proxy::Settings) -> Recording {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let entries = tokio::spawn(proxy::serve(listener, settings, async {
        let _ = stopped.await;
    }));
    Recording {
        address,
        stop,
        entries,
    }
}

impl Recording {
    /// The archive as it comes out of its file.
    async fn end(self) -> Archive {
        self.stop.send(()).unwrap();
        let archive = Archive::of(self.entries.await.unwrap());
        let text = serde_json::to_string(&archive).unwrap();
        Archive::from_json(&text, "session.har").unwrap()
    }
}

/// Sends raw bytes on a connection of its own and reads until the answer is whole.
async fn exchange(to: SocketAddr, head: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).await.unwrap();
    let head = format!("{head}\r\nHost: {to}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

const BINARY: [u8; 5] = [0, 159, 146, 150, 255];

/// Login, home with the cookie got there, and a binary upload.
async fn recorded_visit(site: SocketAddr) -> Archive {
    let recording = record(site, 1 << 20).await;
    let proxy = recording.address;
    let login = exchange(proxy, &format!("POST /login?from=a%20b&x HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 8\r\nOrigin: http://{proxy}\r\nReferer: http://{proxy}/start"), b"name=joe").await;
    assert!(
        login.contains(&format!("location: http://{proxy}/home\r\n")),
        "{login}"
    );
    assert!(
        login.contains("set-cookie: id=s0; Path=/; HttpOnly\r\n"),
        "{login}"
    );
    let home = exchange(
        proxy,
        "GET /home HTTP/1.1\r\nAccept-Encoding: gzip\r\nCookie: id=s0; theme=dark",
        b"",
    )
    .await;
    assert!(home.ends_with("home"), "{home}");
    exchange(
        proxy,
        "PUT /echo HTTP/1.1\r\nContent-Type: image/x\r\nContent-Length: 5",
        &BINARY,
    )
    .await;
    recording.end().await
}

#[tokio::test]
async fn recording_is_a_complete_archive_of_what_the_target_got_and_said() {
    let (site, address) = site().await;
    let archive = recorded_visit(address).await;
    assert_eq!(archive.log.version, "1.2");
    assert_eq!(archive.log.creator.name, "mehari record");
    let [login, home, echo] = &archive.log.entries[..] else {
        panic!("{} entries", archive.log.entries.len())
    };
    assert_eq!(
        login.request.url,
        format!("http://{address}/login?from=a%20b&x")
    );
    assert_eq!(login.request.query_string[0].value, "a b");
    assert_eq!(login.request.post_data.as_ref().unwrap().text, "name=joe");
    assert_eq!(login.response.status, 302);
    assert_eq!(
        login.response.redirect_url,
        format!("http://{address}/home")
    );
    assert_eq!(
        login.response.cookies[0].domain.as_deref(),
        Some("127.0.0.1")
    );
    assert_eq!(home.request.cookies[1].name, "theme");
    assert_eq!(home.response.content.text.as_deref(), Some("home"));
    assert!(home
        .request
        .headers
        .iter()
        .any(|h| h.name == "accept-encoding" && h.value == "identity"));
    let upload = echo.request.post_data.as_ref().unwrap();
    assert_eq!(upload.bytes().unwrap(), BINARY);
    let content = &echo.response.content;
    assert_eq!(content.encoding.as_deref(), Some("base64"));
    assert_eq!(
        decode(content.text.as_ref().unwrap(), Some("base64")).unwrap(),
        BINARY
    );
    for entry in &archive.log.entries {
        let timings = &entry.timings;
        assert!(
            timings.connect >= 0.0,
            "each came on a connection of its own"
        );
        let sum = timings.connect + timings.send + timings.wait + timings.receive;
        assert!((entry.time - sum).abs() < 1e-6 && entry.time > 0.0);
        assert!(entry.request.headers_size > 0 && entry.response.headers_size > 0);
        assert_eq!(entry.server_address.as_deref(), Some("127.0.0.1"));
    }
    let addressed = site.addressed.lock().unwrap();
    let own = format!("http://{address}");
    assert_eq!(
        addressed[..3],
        [address.to_string(), format!("{own}/start"), own]
    );
}

#[tokio::test]
async fn archive_has_every_field_that_har_1_2_requires() {
    let (_, address) = site().await;
    let archive = serde_json::to_value(recorded_visit(address).await).unwrap();
    let required = |value: &serde_json::Value, names: &[&str]| {
        for name in names {
            assert!(
                value.get(name).is_some_and(|v| !v.is_null()),
                "{name} in {value}"
            );
        }
    };
    for entry in archive["log"]["entries"].as_array().unwrap() {
        required(
            entry,
            &[
                "startedDateTime",
                "time",
                "request",
                "response",
                "cache",
                "timings",
            ],
        );
        required(
            &entry["request"],
            &[
                "method",
                "url",
                "httpVersion",
                "cookies",
                "headers",
                "queryString",
                "headersSize",
                "bodySize",
            ],
        );
        required(
            &entry["response"],
            &[
                "status",
                "statusText",
                "httpVersion",
                "cookies",
                "headers",
                "content",
                "redirectURL",
                "headersSize",
                "bodySize",
            ],
        );
        required(&entry["response"]["content"], &["size", "mimeType"]);
        required(&entry["timings"], &["send", "wait", "receive"]);
    }
}

#[tokio::test]
async fn pieces_of_an_answer_pass_before_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (go_on, told) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 1024];
        let _ = stream.read(&mut head).await.unwrap();
        let first = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n";
        stream.write_all(first).await.unwrap();
        told.await.unwrap();
        stream.write_all(b"3\r\ntwo\r\n0\r\n\r\n").await.unwrap();
    });
    let recording = record(address, 100).await;
    let mut client = TcpStream::connect(recording.address).await.unwrap();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"one\r\n") {
        assert_ne!(client.read_buf(&mut seen).await.unwrap(), 0);
    }
    // The target goes on only now: had the proxy waited for the end, we would wait for ever.
    go_on.send(()).unwrap();
    while !seen.ends_with(b"0\r\n\r\n") {
        assert_ne!(client.read_buf(&mut seen).await.unwrap(), 0);
    }
    let archive = recording.end().await;
    assert_eq!(
        archive.log.entries[0].response.content.text.as_deref(),
        Some("onetwo")
    );
}

#[tokio::test]
async fn answer_under_way_when_the_recording_ends_is_in_it_with_a_comment() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let recording = record(address, 100).await;
    let mut client = TcpStream::connect(recording.address).await.unwrap();
    client
        .write_all(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        .await
        .unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"half") {
        assert_ne!(client.read_buf(&mut seen).await.unwrap(), 0);
    }
    let archive = recording.end().await;
    let entry = &archive.log.entries[0];
    assert_eq!(entry.response.content.size, 4);
    assert!(entry
        .comment
        .as_ref()
        .unwrap()
        .contains("did not come to its end"));
}

#[tokio::test]
async fn body_above_the_limit_passes_whole_and_is_not_kept() {
    let (_, address) = site().await;
    let recording = record(address, 1000).await;
    let answer = exchange(recording.address, "GET /large HTTP/1.1", b"").await;
    assert_eq!(answer.matches('x').count(), 300_000);
    let archive = recording.end().await;
    let content = &archive.log.entries[0].response.content;
    assert_eq!((content.size, &content.text), (300_000, &None));
}

#[tokio::test]
async fn target_that_is_not_there_is_a_bad_gateway_and_no_entry() {
    let gone = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let recording = record(gone, 1000).await;
    let answer = exchange(recording.address, "GET / HTTP/1.1", b"").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("cannot connect to http://127.0.0.1:"));
    assert!(recording.end().await.log.entries.is_empty());
}

fn settings_of(users: usize) -> Settings {
    Settings {
        to: None,
        trust: Trust::new(false),
        users,
        ramp: Duration::ZERO,
        speed: f64::INFINITY,
        checks: "status,body".parse().unwrap(),
        timeout: Duration::from_secs(10),
    }
}

async fn replay(archive: &Archive, settings: Settings) -> Report {
    play(archive, settings, std::future::pending())
        .await
        .unwrap()
}

#[tokio::test]
async fn replayed_users_log_in_each_with_a_cookie_of_their_own() {
    let (site, address) = site().await;
    let archive = recorded_visit(address).await;
    // The recorded cookie is worth nothing any more.
    site.live.lock().unwrap().clear();
    let report = replay(&archive, settings_of(20)).await;
    assert!(report.is_good(), "{report}");
    assert_eq!((report.ok, report.entries.len()), (60, 3));
    assert_eq!(site.logins.load(Ordering::SeqCst), 21);
    assert_eq!(site.live.lock().unwrap().len(), 20);
    assert_eq!(report.response.len(), 60);
    let counts = &report.record.counts;
    assert_eq!((counts.attempted, counts.completed), (60, 60));
    assert_eq!((counts.statuses[&200], counts.statuses[&302]), (40, 20));
}

#[tokio::test]
async fn replay_against_another_server_takes_its_address() {
    let (_, first) = site().await;
    let (second_site, second) = site().await;
    let archive = recorded_visit(first).await;
    let to: Target = format!("http://{second}").parse().unwrap();
    let report = replay(
        &archive,
        Settings {
            to: Some(to),
            ..settings_of(1)
        },
    )
    .await;
    assert!(report.is_good(), "{report}");
    let addressed = second_site.addressed.lock().unwrap();
    assert_eq!(addressed[0], second.to_string());
    assert_eq!(addressed[1], format!("http://{second}/start"));
}

async fn recorded_news(address: SocketAddr) -> Archive {
    let recording = record(address, 1000).await;
    exchange(recording.address, "GET /news HTTP/1.1", b"").await;
    recording.end().await
}

#[tokio::test]
async fn answer_that_is_not_as_recorded_fails_and_says_how() {
    let (site, address) = site().await;
    let mut archive = recorded_news(address).await;
    site.broken.store(true, Ordering::SeqCst);
    let report = replay(&archive, settings_of(2)).await;
    assert_eq!((report.ok, report.failed), (0, 2));
    assert!(!report.is_good());
    assert!(
        report.to_string().contains("status 500, recorded 200"),
        "{report}"
    );
    let none = Checks {
        status: false,
        body: false,
    };
    assert!(replay(
        &archive,
        Settings {
            checks: none,
            ..settings_of(1)
        }
    )
    .await
    .is_good());

    site.broken.store(false, Ordering::SeqCst);
    archive.log.entries[0].response.content.text = Some("newt".into());
    let report = replay(&archive, settings_of(1)).await;
    let problem = report.entries[0].problem.as_deref();
    assert_eq!(
        problem,
        Some("body differs from byte 4 on (4 bytes, recorded 4)")
    );
    let status = Checks {
        status: true,
        body: false,
    };
    assert!(replay(
        &archive,
        Settings {
            checks: status,
            ..settings_of(1)
        }
    )
    .await
    .is_good());
}

#[tokio::test]
async fn server_that_does_not_answer_in_time_or_at_all_fails_the_entry() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (_, address) = site().await;
    let archive = recorded_news(address).await;
    let to = |address: SocketAddr| Some(format!("http://{address}").parse().unwrap());
    let timeout = Duration::from_millis(50);
    let late = Settings {
        to: to(silent.local_addr().unwrap()),
        timeout,
        ..settings_of(1)
    };
    assert!(replay(&archive, late)
        .await
        .to_string()
        .contains("no answer in 0.05 s"));
    let gone = silent.local_addr().unwrap();
    drop(silent);
    let refused = replay(
        &archive,
        Settings {
            to: to(gone),
            ..settings_of(1)
        },
    )
    .await;
    assert!(
        refused.to_string().contains("cannot connect to"),
        "{refused}"
    );
}

/// `/slow` (200 ms) and, 50 ms into it, `/news`; `/echo` 100 ms after the end of both.
fn overlapping(archive: &Archive) -> Archive {
    let template = &archive.log.entries[0];
    let entry = |path: &str, start_ms: u64, time: f64| {
        let mut entry = template.clone();
        let base = &template.request.url;
        entry.request.url = base.replace("/news", path);
        entry.started_unix_us = template.started_unix_us + start_ms * 1_000;
        entry.time = time;
        entry.response.content.text = None;
        entry
    };
    Archive::of(vec![
        entry("/slow", 0, 200.0),
        entry("/news", 50, 10.0),
        entry("/echo", 300, 1.0),
    ])
}

#[tokio::test]
async fn think_time_is_kept_and_what_ran_side_by_side_runs_side_by_side() {
    let (site, address) = site().await;
    let archive = overlapping(&recorded_news(address).await);
    site.times.lock().unwrap().clear();
    let report = replay(
        &archive,
        Settings {
            speed: 1.0,
            ..settings_of(1)
        },
    )
    .await;
    assert!(report.is_good(), "{report}");
    let times = site.times.lock().unwrap();
    let order: Vec<&str> = times.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(order, ["/slow", "/news", "/echo"]);
    // Lower bounds only: a busy machine may add to any pause, but never shortens one.
    assert!(times[1].1 - times[0].1 >= Duration::from_millis(45));
    assert!(times[2].1 - times[0].1 >= Duration::from_millis(290));
}

#[tokio::test]
async fn request_waits_for_the_answer_it_followed_even_without_pauses() {
    let (site, address) = site().await;
    let archive = overlapping(&recorded_news(address).await);
    site.times.lock().unwrap().clear();
    replay(&archive, settings_of(1)).await;
    let times = site.times.lock().unwrap();
    assert_eq!(times[2].0, "/echo");
    assert!(
        times[2].1 - times[0].1 >= Duration::from_millis(195),
        "the slow answer came first"
    );
}

#[tokio::test]
async fn entries_of_other_origins_are_left_out_and_told() {
    let (_, address) = site().await;
    let mut archive = recorded_news(address).await;
    let mut foreign = archive.log.entries[0].clone();
    foreign.request.url = "http://192.0.2.1/advertisement".into();
    archive.log.entries.push(foreign);
    let report = replay(&archive, settings_of(1)).await;
    assert!(report.is_good());
    assert!(
        report.to_string().contains("1 entries of other origins"),
        "{report}"
    );
}

#[tokio::test]
async fn replay_that_is_ended_early_reports_what_was_played() {
    let (_, address) = site().await;
    let archive = overlapping(&recorded_news(address).await);
    let soon = tokio::time::sleep(Duration::from_millis(120));
    let report = play(
        &archive,
        Settings {
            speed: 1.0,
            ..settings_of(1)
        },
        soon,
    )
    .await
    .unwrap();
    assert!(report.interrupted && !report.is_good());
    assert!(report.unplayed >= 1, "{report}");
}

#[tokio::test]
async fn files_that_cannot_be_played_say_why_in_one_line() {
    for (text, why) in [
        ("{", "expected a HAR 1.2 file"),
        (
            "{\"log\":{\"version\":\"2.0\",\"creator\":{}}}",
            "HAR version \"2.0\"",
        ),
    ] {
        let error = Archive::from_json(text, "x.har").unwrap_err().to_string();
        assert!(
            error.starts_with("x.har: ") && error.contains(why),
            "{error}"
        );
        assert!(!error.contains('\n'));
    }
    let empty = Archive::from_json("{\"log\":{\"version\":\"1.2\",\"creator\":{}}}", "x").unwrap();
    let error = play(&empty, settings_of(1), std::future::pending())
        .await
        .unwrap_err();
    assert!(error.contains("no entries"));
    let target = "http://host/path".parse::<Target>().unwrap_err();
    assert!(target.contains("without a path"));
    let checks = "status,boby".parse::<Checks>().unwrap_err();
    assert_eq!(checks, "expected `status`, `body` or `none`, got `boby`");
}

/// The site behind a certificate that it signed itself, for `localhost`.
async fn secured_site() -> SocketAddr {
    let signed = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(signed.key_pair.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let site = Arc::new(Site::default());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that does not trust the certificate breaks off here.
            let Ok(stream) = acceptor.accept(stream).await else {
                continue;
            };
            let site = site.clone();
            let service = service_fn(move |request| {
                let site = site.clone();
                async move { Ok::<_, hyper::Error>(site.answer(request).await) }
            });
            tokio::spawn(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    address
}

#[tokio::test]
async fn secured_target_is_recorded_and_replayed_when_its_certificate_is_accepted() {
    let port = secured_site().await.port();
    let target = format!("https://localhost:{port}");
    for (insecure, status) in [(false, "502"), (true, "200")] {
        let settings = proxy::Settings {
            target: target.parse().unwrap(),
            trust: Trust::new(insecure),
            body_limit: 1_000,
        };
        let recording = record_with(settings).await;
        let answer = exchange(recording.address, "GET /news HTTP/1.1", b"").await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
        assert_eq!(answer.contains("UnknownIssuer"), !insecure, "{answer}");
        let archive = recording.end().await;
        if let [entry] = &archive.log.entries[..] {
            assert!(insecure && entry.timings.ssl > 0.0);
            assert!(entry.timings.connect >= entry.timings.ssl);
            assert_eq!(entry.request.url, format!("{target}/news"));
            let trusting = Settings {
                trust: Trust::new(true),
                ..settings_of(1)
            };
            assert!(replay(&archive, trusting).await.is_good());
            assert_eq!(replay(&archive, settings_of(1)).await.failed, 1);
        } else {
            assert!(!insecure && archive.log.entries.is_empty());
        }
    }
}
