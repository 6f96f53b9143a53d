//! Holds what the tests of recording and replaying share: a recording proxy and a small site. The
//! site gives a new session cookie at each login and accepts no other session cookies.
#![allow(dead_code, clippy::unwrap_used)]

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
use mehari_record::session::har::{Archive, Entry};
use mehari_record::session::replay::{play, Report, Settings};
use mehari_record::session::{proxy, Trust};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

#[derive(Default)]
pub struct Site {
    pub logins: AtomicU64,
    pub live: Mutex<HashSet<String>>,
    /// `Host`, `Referer` and `Origin` as they arrived.
    pub addressed: Mutex<Vec<String>>,
    pub times: Mutex<Vec<(String, Instant)>>,
    pub broken: std::sync::atomic::AtomicBool,
}

pub fn field<'a>(request: &'a Request<Incoming>, name: &str) -> &'a str {
    request
        .headers()
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

pub fn answer(status: u16, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status.try_into().unwrap();
    response
}

impl Site {
    pub async fn answer(self: Arc<Site>, request: Request<Incoming>) -> Response<Full<Bytes>> {
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
                if known && cookie.contains("theme=dark") {
                    answer(200, "home")
                } else {
                    answer(403, format!("not known: {cookie}"))
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

pub async fn site() -> (Arc<Site>, SocketAddr) {
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

pub struct Recording {
    pub address: SocketAddr,
    pub stop: oneshot::Sender<()>,
    pub entries: tokio::task::JoinHandle<Vec<Entry>>,
}

pub async fn record(to: SocketAddr, body_limit: usize) -> Recording {
    record_with(proxy::Settings {
        target: format!("http://{to}").parse().unwrap(),
        trust: Trust::new(false),
        body_limit,
    })
    .await
}

pub async fn record_with(settings: proxy::Settings) -> Recording {
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
    /// Ends the recording. Returns the archive after writing it as text and reading it back.
    pub async fn end(self) -> Archive {
        self.stop.send(()).unwrap();
        let archive = Archive::of(self.entries.await.unwrap());
        let text = serde_json::to_string(&archive).unwrap();
        Archive::from_json(&text, "session.har").unwrap()
    }
}

/// Sends raw bytes on a new connection and reads until the answer is complete.
pub async fn exchange(to: SocketAddr, head: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).await.unwrap();
    let head = format!("{head}\r\nHost: {to}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

pub const BINARY: [u8; 5] = [0, 159, 146, 150, 255];

/// Records a visit: a login, the home page with the login's cookie, and a binary upload.
pub async fn recorded_visit(site: SocketAddr) -> Archive {
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

pub fn settings_of(users: usize) -> Settings {
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

pub async fn replay(archive: &Archive, settings: Settings) -> Report {
    play(archive, settings, std::future::pending())
        .await
        .unwrap()
}

/// Returns the site with a self-signed certificate for `localhost`.
pub async fn secured_site() -> SocketAddr {
    let signed = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let key =
        rustls::pki_types::PrivateKeyDer::try_from(signed.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
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
            // A client that does not trust the certificate closes the connection here.
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
