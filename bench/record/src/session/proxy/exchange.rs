//! Handles one exchange of the proxy: turns the client's request into a request to the target, the
//! target's answer into an answer to the client, and both into an entry.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Response, Uri, Version};
use url::Url;

use super::{Capture, Conversation, Recorder};
use crate::session::capture::Captured;
use crate::session::har::{self, Content, Entry, PostData, Timings};
use crate::session::{headers, Target};
use crate::wall_clock;

/// What the proxy knows of an exchange after it has sent the request.
pub struct RecordedExchange {
    recorder: Arc<Recorder>,
    /// The proxy's origin as the client knows it.
    local: Option<Target>,
    started: Instant,
    started_unix_us: u64,
    request: har::Request,
    body: Arc<Mutex<Captured>>,
    connection: String,
}

/// How the connection for a request was opened; empty if a kept connection was used.
#[derive(Default)]
pub struct Sent {
    pub address: Option<SocketAddr>,
    pub connect: Option<Duration>,
    pub tls: Option<Duration>,
}

impl RecordedExchange {
    /// Turns the client's request into a request to the target.
    pub fn begin(
        conversation: &Conversation,
        request: Request<Incoming>,
    ) -> Result<(RecordedExchange, Request<Capture>), String> {
        let recorder = conversation.recorder.clone();
        let target = &recorder.settings.target;
        let (mut parts, body) = request.into_parts();
        if parts.method == Method::CONNECT {
            return Err("CONNECT is not for a recording proxy; give the target with --to".into());
        }
        let local = local_origin(&parts.headers).or_else(|| conversation.local.clone());
        readdress(&mut parts.headers, local.as_ref(), target)?;
        let path = parts.uri.path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let recorded = recorded_request(&parts.method, &path, &parts.headers, target);
        let captured = Arc::new(Mutex::new(Captured::default()));
        let exchange = RecordedExchange {
            local,
            started: Instant::now(),
            started_unix_us: wall_clock::now(),
            request: recorded,
            body: captured.clone(),
            connection: conversation.number.to_string(),
            recorder: recorder.clone(),
        };
        let body = Capture::new(
            body,
            recorder.settings.body_limit,
            Box::new(move |seen| {
                *captured.lock().unwrap_or_else(PoisonError::into_inner) = seen;
            }),
        );
        let mut request = Request::new(body);
        *request.method_mut() = parts.method;
        *request.uri_mut() = Uri::from(path);
        *request.headers_mut() = parts.headers;
        Ok((exchange, request))
    }

    /// Turns the target's answer into an answer to the client. The end of the answer's body
    /// completes the entry.
    pub fn answered(self, response: Response<Incoming>, sent: Sent) -> Response<Capture> {
        let headed = Instant::now();
        let (mut parts, body) = response.into_parts();
        let response = recorded_response(&parts);
        headers::strip_hop_by_hop(&mut parts.headers);
        let target = &self.recorder.settings.target;
        if let Some(local) = &self.local {
            for name in [header::LOCATION, header::CONTENT_LOCATION] {
                headers::move_origin(&mut parts.headers, name, target, local);
            }
        }
        make_cookies_local(&mut parts.headers);
        parts.version = Version::HTTP_11;
        let limit = self.recorder.settings.body_limit;
        let finish = move |body| self.finish(response, body, headed, &sent);
        Response::from_parts(parts, Capture::new(body, limit, Box::new(finish)))
    }

    fn finish(self, mut response: har::Response, body: Captured, headed: Instant, sent: &Sent) {
        let recorder = self.recorder.clone();
        let comment = self.comment(&body);
        response.body_size = body.size as i64;
        response.content = content(&response, body);
        let timings = self.timings(headed, sent);
        let phases = [timings.connect, timings.send, timings.wait, timings.receive];
        recorder.lock().push(Entry {
            started_unix_us: self.started_unix_us,
            time: phases.into_iter().filter(|phase| *phase > 0.0).sum(),
            request: self.request_with_body(),
            response,
            cache: har::Cache {},
            timings,
            server_address: sent.address.map(|address| address.ip().to_string()),
            connection: Some(self.connection),
            comment,
        });
    }

    fn comment(&self, answer: &Captured) -> Option<String> {
        let sent = self.body.lock().unwrap_or_else(PoisonError::into_inner);
        match (answer.complete, sent.is_whole()) {
            (true, true) => None,
            (true, false) => Some("the request's body is cut: it was too large to be kept".into()),
            (false, _) => Some("the answer did not come to its end".into()),
        }
    }

    /// Returns the times of the phases. In HAR `connect` includes the TLS handshake, and `ssl`
    /// gives the handshake alone.
    fn timings(&self, headed: Instant, sent: &Sent) -> Timings {
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let tls = sent.tls.unwrap_or_default();
        let connect = sent.connect.map(|connect| connect + tls);
        let before_head = headed.duration_since(self.started);
        Timings {
            connect: connect.map_or(-1.0, ms),
            ssl: sent.tls.map_or(-1.0, ms),
            wait: ms(before_head.saturating_sub(connect.unwrap_or_default())),
            receive: ms(headed.elapsed()),
            ..Timings::default()
        }
    }

    fn request_with_body(&self) -> har::Request {
        let mut request = self.request.clone();
        let body = self.body.lock().unwrap_or_else(PoisonError::into_inner);
        request.body_size = body.size as i64;
        if body.size > 0 {
            let mime_type = request.headers.iter().find(|h| h.name == "content-type");
            let mime_type = mime_type.map(|h| h.value.clone()).unwrap_or_default();
            request.post_data = Some(PostData::of(mime_type, &body.bytes));
        }
        request
    }
}

fn local_origin(headers: &HeaderMap) -> Option<Target> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    format!("http://{host}").parse().ok()
}

fn readdress(
    headers: &mut HeaderMap,
    local: Option<&Target>,
    target: &Target,
) -> Result<(), String> {
    headers::strip_hop_by_hop(headers);
    headers.remove(header::EXPECT);
    if let Some(local) = local {
        for name in [header::ORIGIN, header::REFERER] {
            headers::move_origin(headers, name, local, target);
        }
    }
    let host = HeaderValue::from_str(&target.authority).map_err(|cause| cause.to_string())?;
    headers.insert(header::HOST, host);
    if headers.contains_key(header::ACCEPT_ENCODING) {
        headers.insert(
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        );
    }
    Ok(())
}

fn make_cookies_local(headers: &mut HeaderMap) {
    let cookies: Vec<HeaderValue> = headers
        .get_all(header::SET_COOKIE)
        .iter()
        .map(headers::local_cookie)
        .collect();
    headers.remove(header::SET_COOKIE);
    for cookie in cookies {
        headers.append(header::SET_COOKIE, cookie);
    }
}

fn recorded_request(
    method: &Method,
    path: &PathAndQuery,
    headers: &HeaderMap,
    target: &Target,
) -> har::Request {
    let url = format!("{}{path}", target.origin());
    let query_string = Url::parse(&url)
        .map(|url| {
            url.query_pairs()
                .map(|(name, value)| har::Pair {
                    name: name.into_owned(),
                    value: value.into_owned(),
                })
                .collect()
        })
        .unwrap_or_default();
    har::Request {
        method: method.to_string(),
        http_version: "HTTP/1.1".into(),
        cookies: headers::request_cookies(headers),
        headers_size: headers::size(
            method.as_str().len() + path.as_str().len() + " HTTP/1.1".len() + 1,
            headers,
        ),
        headers: headers::pairs(headers),
        query_string,
        post_data: None,
        body_size: 0,
        url,
    }
}

fn recorded_response(parts: &hyper::http::response::Parts) -> har::Response {
    let reason = parts.status.canonical_reason().unwrap_or_default();
    let location = parts.headers.get(header::LOCATION);
    har::Response {
        status: parts.status.as_u16(),
        status_text: reason.to_owned(),
        http_version: format!("{:?}", parts.version),
        cookies: headers::response_cookies(&parts.headers),
        headers_size: headers::size("HTTP/1.1 200 ".len() + reason.len(), &parts.headers),
        headers: headers::pairs(&parts.headers),
        content: Content::default(),
        redirect_url: location.map(headers::value_text).unwrap_or_default(),
        body_size: -1,
    }
}

fn content(response: &har::Response, body: Captured) -> Content {
    let mime_type = response.headers.iter().find(|h| h.name == "content-type");
    let mut content = Content {
        size: body.size as i64,
        mime_type: mime_type.map_or("application/octet-stream".into(), |h| h.value.clone()),
        ..Content::default()
    };
    if body.is_whole() {
        let (text, encoding) = har::encode(&body.bytes);
        content.text = Some(text);
        content.encoding = encoding;
    } else {
        // The kept part is left out, because a replay would compare it as if it were the whole
        // body.
        content.comment = Some("too large to be kept".into())
    }
    content
}
