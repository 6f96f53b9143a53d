//! The HTTP service on a loopback address, or behind a server.
//!
//! If the service has a token, every path begins with it, and a request without the token gets 403
//! and learns nothing. Behind a server, the server decides who may come, and no other process can
//! connect. The service only answers GET and HEAD. The Content-Security-Policy allows
//! the pages' own files and nothing else.

use crate::content::Content;
use crate::listening::{Listening, OnlyFrom};
use crate::token::Token;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;

/// How long a client may take to send a request's head.
const HEAD_TIME: Duration = Duration::from_secs(10);

const POLICY_FIELD: &str = "content-security-policy";
/// The policy of the pages' own files.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'";
/// The policy of files that another program has made. The sandbox forbids all scripts, inline ones
/// too, forms and new windows. The origin stays, because otherwise a page's own style sheet would
/// count as another site's.
const FOREIGN_POLICY: &str = "sandbox allow-same-origin; default-src 'none'; style-src 'self'; \
                              img-src 'self'; base-uri 'none'; form-action 'none'; \
                              frame-ancestors 'none'";

/// The other fields of every answer.
const FIELDS: &[(&str, &str)] = &[
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("vary", "Accept-Encoding"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// The pages that a service shows.
pub trait Pages: Send + Sync + 'static {
    /// Returns the answer for a path without its first slash and without the token. The call may
    /// block.
    fn get(&self, path: &str) -> Content;
}

/// The pages, and who may read them.
pub struct Service<P> {
    /// The command that printed the address.
    command: &'static str,
    admission: Admission,
    pages: P,
}

/// Who may read the pages.
enum Admission {
    /// Whoever knows the token, under a loopback name.
    Token(Token),
    /// Everybody on this machine, under a loopback name.
    Everybody,
    /// Whom the server has admitted.
    Server,
}

type Answer = Response<Full<Bytes>>;

impl<P: Pages> Service<P> {
    /// Makes a service with a new token. `command` is the command that prints the address.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub fn secret(command: &'static str, pages: P) -> Result<Service<P>, String> {
        Ok(Service {
            command,
            admission: Admission::Token(Token::random()?),
            pages,
        })
    }

    /// Makes a service for everybody on this machine.
    pub fn open(command: &'static str, pages: P) -> Service<P> {
        Service {
            command,
            admission: Admission::Everybody,
            pages,
        }
    }

    /// Makes a service for a server, which decides who may read the pages.
    pub fn behind_server(command: &'static str, pages: P) -> Service<P> {
        Service {
            command,
            admission: Admission::Server,
            pages,
        }
    }

    /// Returns the address to open.
    pub fn url(&self, address: SocketAddr) -> String {
        match &self.admission {
            Admission::Token(token) => format!("http://{address}/{}/", token.text()),
            _ => format!("http://{address}/"),
        }
    }

    /// Serves browsers on this machine until `stop` is ready.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) {
        self.serve_until(listener, stop).await;
    }

    /// Serves one process for ever: the server of this number.
    ///
    /// # Errors
    /// The socket cannot be used.
    pub async fn serve_server(self, listener: StdUnixListener, process: i32) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        let only = OnlyFrom { listener, process };
        self.serve_until(only, std::future::pending()).await;
        Ok(())
    }

    async fn serve_until(self, listener: impl Listening, stop: impl Future<Output = ()>) {
        let shared = Arc::new(self);
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                accepted = listener.next() => match accepted {
                    Ok(stream) => {
                        let shared = shared.clone();
                        let service = service_fn(move |request| answer(shared.clone(), request));
                        connections.spawn(hyper::server::conn::http1::Builder::new()
                            .timer(TokioTimer::new())
                            .header_read_timeout(HEAD_TIME)
                            .serve_connection(TokioIo::new(stream), service));
                    }
                    // The process has probably no free descriptor. Some will be closed soon.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
            }
        }
        connections.shutdown().await;
    }

    /// Returns the path below the token, or the refusal.
    fn admitted<'r, T>(&self, request: &'r Request<T>) -> Result<&'r str, Content> {
        // A page of another site could make its own name stand for 127.0.0.1.
        let host = field(request.headers(), header::HOST);
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let is_local = ["127.0.0.1", "[::1]", "localhost"].contains(&name);
        if !is_local && !matches!(self.admission, Admission::Server) {
            return Err(Content::text(
                StatusCode::FORBIDDEN,
                "Expected a request for 127.0.0.1 or localhost.\n",
            ));
        }
        let mut path = request.uri().path().trim_start_matches('/');
        if let Admission::Token(token) = &self.admission {
            let (given, rest) = path.split_once('/').unwrap_or((path, "missing"));
            if !token.is(given) {
                let expected = format!(
                    "Expected the address that `{}` has printed, with its token.\n",
                    self.command
                );
                return Err(Content::text(StatusCode::FORBIDDEN, expected));
            }
            path = rest;
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let only = format!("`{}` only answers GET and HEAD.\n", self.command);
            return Err(Content::text(StatusCode::METHOD_NOT_ALLOWED, only));
        }
        Ok(path)
    }
}

async fn answer<P: Pages>(
    service: Arc<Service<P>>,
    request: Request<Incoming>,
) -> Result<Answer, std::convert::Infallible> {
    let takes_gzip = field(request.headers(), header::ACCEPT_ENCODING)
        .split(',')
        .any(|word| word.trim() == "gzip" || word.trim().starts_with("gzip;"));
    let admitted = service.admitted(&request).map(str::to_owned);
    let content = match admitted {
        Err(refusal) => refusal,
        Ok(path) => tokio::task::spawn_blocking(move || service.pages.get(&path))
            .await
            .unwrap_or_else(|_| {
                Content::text(StatusCode::INTERNAL_SERVER_ERROR, "The look failed.\n")
            }),
    };
    Ok(response(content, takes_gzip))
}

fn response(content: Content, takes_gzip: bool) -> Answer {
    let compressed = content.compressed.filter(|_| takes_gzip);
    let is_compressed = compressed.is_some();
    let mut answer = Response::new(Full::from(compressed.unwrap_or(content.plain)));
    *answer.status_mut() = content.status;
    let fields = answer.headers_mut();
    for (name, value) in FIELDS {
        fields.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    let policy = if content.is_foreign {
        FOREIGN_POLICY
    } else {
        POLICY
    };
    fields.insert(POLICY_FIELD, HeaderValue::from_static(policy));
    let media_type = HeaderValue::from_static(content.media_type.name());
    fields.insert(header::CONTENT_TYPE, media_type);
    if is_compressed {
        fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    answer
}

fn field(fields: &HeaderMap, name: HeaderName) -> &str {
    let value = fields.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoPages;

    impl Pages for NoPages {
        fn get(&self, _: &str) -> Content {
            Content::text(StatusCode::OK, "")
        }
    }

    fn status_of(host: &str, method: Method, path: &str, service: &Service<NoPages>) -> u16 {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("Host", host).body(()).expect("a request");
        match service.admitted(&request) {
            Ok(_) => 200,
            Err(refusal) => refusal.status.as_u16(),
        }
    }

    #[test]
    fn only_the_token_on_a_loopback_name_is_admitted() {
        let service = Service::secret("mehari console", NoPages).expect("a token");
        let Admission::Token(token) = &service.admission else {
            panic!("the service has a token");
        };
        let token = token.text();
        let right = format!("/{token}/api/now");
        let cases = [
            ("127.0.0.1:5", Method::GET, right.as_str(), 200),
            ("localhost", Method::HEAD, right.as_str(), 200),
            ("[::1]:5", Method::GET, right.as_str(), 200),
            ("127.0.0.1:5", Method::POST, right.as_str(), 405),
            ("evil.example", Method::GET, right.as_str(), 403),
            ("127.0.0.1.evil.example:5", Method::GET, right.as_str(), 403),
            ("", Method::GET, right.as_str(), 403),
            ("127.0.0.1:5", Method::GET, "/", 403),
            ("127.0.0.1:5", Method::GET, "/api/now", 403),
            ("127.0.0.1:5", Method::POST, "/api/now", 403),
        ];
        for (host, method, path, expected) in cases {
            assert_eq!(
                status_of(host, method, path, &service),
                expected,
                "{host} {path}"
            );
        }
    }

    #[test]
    fn behind_a_server_any_name_is_admitted_and_only_reads() {
        let service = Service::behind_server("the console", NoPages);
        for (method, expected) in [(Method::GET, 200), (Method::HEAD, 200), (Method::POST, 405)] {
            let status = status_of("www.example.org", method, "/api/now", &service);
            assert_eq!(status, expected);
        }
    }

    #[test]
    fn without_a_token_any_path_of_a_loopback_name_is_admitted() {
        let service = Service::open("mehari docs", NoPages);
        let address = "127.0.0.1:5".parse().expect("an address");
        assert_eq!(service.url(address), "http://127.0.0.1:5/");
        let cases = [
            ("127.0.0.1:5", Method::GET, "/", 200),
            ("localhost", Method::HEAD, "/a/b.html", 200),
            ("localhost", Method::POST, "/", 405),
            ("evil.example", Method::GET, "/", 403),
        ];
        for (host, method, path, expected) in cases {
            assert_eq!(
                status_of(host, method, path, &service),
                expected,
                "{host} {path}"
            );
        }
    }
}
