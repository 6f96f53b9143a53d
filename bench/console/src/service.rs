//! Serves the console over HTTP on a loopback address.
//!
//! Every path begins with the token. A request without the token gets 403 and learns nothing. The
//! service only reads: it has no request that changes the server. The Content-Security-Policy
//! allows the console's own files and nothing else.

use crate::assets::{self, Asset};
use crate::token::Token;
use crate::watched_server::WatchedServer;
use bytes::Bytes;
use flate2::Compression;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{json, Value};
use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// How long a client may take to send a request's head.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// The fields of every answer.
const FIELDS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("vary", "Accept-Encoding"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// The pages, the token, and the server that the pages show.
pub struct Console {
    token: Token,
    assets: HashMap<&'static str, Asset>,
    server: WatchedServer,
}

type Answer = Response<Full<Bytes>>;

/// An answer before it is compressed.
struct Content {
    status: StatusCode,
    media_type: &'static str,
    plain: Bytes,
    compressed: Option<Bytes>,
}

impl Console {
    /// Makes a console with a new token.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub fn new(server: WatchedServer) -> Result<Console, String> {
        Ok(Console {
            token: Token::random()?,
            assets: assets::all(),
            server,
        })
    }

    /// Returns the address to open.
    pub fn url(&self, address: SocketAddr) -> String {
        format!("http://{address}/{}/", self.token.text())
    }

    /// Serves until `stop` is ready.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let console = Arc::new(self);
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let console = console.clone();
                        let service = service_fn(move |request| answer(console.clone(), request));
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

    /// Answers a GET request for the path after the token.
    fn get(&self, path: &str) -> Content {
        if let Some(asset) = self.assets.get(path) {
            return Content {
                status: StatusCode::OK,
                media_type: asset.media_type,
                plain: Bytes::from_static(asset.plain),
                compressed: Some(asset.compressed.clone()),
            };
        }
        match path {
            "api/now" => figures(self.server.now()),
            "api/places" => figures(self.server.list("places")),
            "api/errors" => figures(self.server.list("errors")),
            "api/history" => figures(self.server.list("history")),
            "api/memory" => figures(self.server.memory()),
            "api/machine" => figures(Ok(self.server.machine())),
            other => match other.strip_prefix("api/worker/").map(str::parse) {
                Some(Ok(pid)) => figures(self.server.worker(pid)),
                _ => Content::text(StatusCode::NOT_FOUND, "The console has no such page.\n"),
            },
        }
    }
}

/// Returns figures as JSON. If the server does not answer, the page shows the reason.
fn figures(read: Result<Value, String>) -> Content {
    let (status, value) = match read {
        Ok(value) => (StatusCode::OK, value),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, json!({ "error": reason })),
    };
    let plain = Bytes::from(value.to_string());
    Content {
        status,
        media_type: "application/json",
        compressed: Some(assets::compress(&plain, Compression::fast())),
        plain,
    }
}

impl Content {
    fn text(status: StatusCode, text: &'static str) -> Content {
        Content {
            status,
            media_type: "text/plain; charset=utf-8",
            plain: Bytes::from_static(text.as_bytes()),
            compressed: None,
        }
    }

    fn answer(self, takes_gzip: bool) -> Answer {
        let compressed = self.compressed.filter(|_| takes_gzip);
        let is_compressed = compressed.is_some();
        let mut answer = Response::new(Full::from(compressed.unwrap_or(self.plain)));
        *answer.status_mut() = self.status;
        let fields = answer.headers_mut();
        for (name, value) in FIELDS {
            fields.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        fields.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(self.media_type),
        );
        if is_compressed {
            fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        answer
    }
}

async fn answer(
    console: Arc<Console>,
    request: Request<Incoming>,
) -> Result<Answer, std::convert::Infallible> {
    let takes_gzip = field(request.headers(), header::ACCEPT_ENCODING)
        .split(',')
        .any(|word| word.trim() == "gzip" || word.trim().starts_with("gzip;"));
    let content = match admitted(&console.token, &request) {
        Err(refusal) => refusal,
        // /proc and the control socket may block.
        Ok(path) => tokio::task::spawn_blocking(move || console.get(&path))
            .await
            .unwrap_or_else(|_| {
                Content::text(StatusCode::INTERNAL_SERVER_ERROR, "The look failed.\n")
            }),
    };
    Ok(content.answer(takes_gzip))
}

fn field(fields: &HeaderMap, name: HeaderName) -> &str {
    let value = fields.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

/// Returns the path after the token, or the refusal.
fn admitted<T>(token: &Token, request: &Request<T>) -> Result<String, Content> {
    // A page of another site could make its own name stand for 127.0.0.1.
    let host = field(request.headers(), header::HOST);
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if !["127.0.0.1", "[::1]", "localhost"].contains(&name) {
        return Err(Content::text(
            StatusCode::FORBIDDEN,
            "Expected a request for 127.0.0.1 or localhost.\n",
        ));
    }
    let path = request.uri().path().trim_start_matches('/');
    let (given, rest) = path.split_once('/').unwrap_or((path, "missing"));
    if !token.is(given) {
        return Err(Content::text(
            StatusCode::FORBIDDEN,
            "Expected the address that `mehari console` has printed, with its token.\n",
        ));
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Err(Content::text(
            StatusCode::METHOD_NOT_ALLOWED,
            "The console only answers GET and HEAD.\n",
        ));
    }
    Ok(rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_of(host: &str, method: Method, path: &str, token: &Token) -> u16 {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("Host", host).body(()).expect("a request");
        match admitted(token, &request) {
            Ok(_) => 200,
            Err(refusal) => refusal.status.as_u16(),
        }
    }

    #[test]
    fn only_the_token_on_a_loopback_name_is_admitted() {
        let token = Token::random().expect("a token");
        let right = format!("/{}/api/now", token.text());
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
                status_of(host, method, path, &token),
                expected,
                "{host} {path}"
            );
        }
    }
}
