//! Sends requests to the authority: HTTPS only, one connection a request, with limits of time and
//! size. OCSP responders are asked without TLS, because their responses are signed.

use crate::Error;
use bytes::Bytes;
use http::{header, HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Body;
use hyper_util::rt::TokioIo;
use instant_acme::{BodyWrapper, BytesResponse, HttpClient};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The longest time for a request and its response.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest response body.
const LONGEST: usize = 1 << 20;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A client of one authority.
#[derive(Clone)]
pub struct Client(TlsConnector);

impl Client {
    /// Reads the roots: those of the file, or those of the operating system.
    pub fn new(roots: Option<&Path>) -> Result<Client, Error> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            Error::Authority(format!("MDCACertificateFile{what}: {error}"))
        };
        let mut store = RootCertStore::empty();
        match roots {
            Some(file) => {
                let name = format!(" {}", file.display());
                let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
                let read: Vec<_> = read.map_err(|error| failed(&name, &error))?;
                for root in read {
                    store.add(root).map_err(|error| failed(&name, &error))?;
                }
            }
            None => {
                store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        if store.is_empty() {
            return Err(failed(
                "",
                &"there are no roots to verify the authority with",
            ));
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Made(error.to_string()))?
            .with_root_certificates(store)
            .with_no_client_auth();
        Ok(Client(TlsConnector::from(Arc::new(config))))
    }

    async fn send(self, request: Request<BodyWrapper<Bytes>>) -> Result<BytesResponse, Failure> {
        let (mut parts, body) = request.into_parts();
        let host = match parts.uri.host() {
            Some(host) if parts.uri.scheme_str() == Some("https") => host.to_owned(),
            _ => return Err(format!("expected an https:// URL, not {}", parts.uri).into()),
        };
        let bare = host.trim_matches(['[', ']']).to_owned();
        let port = parts.uri.port_u16().unwrap_or(443);
        let stream = connect(&bare, port).await?;
        let name = ServerName::try_from(bare)?;
        let stream = self.0.connect(name, stream).await;
        let stream = stream.map_err(|error| format!("{host}:{port}: {error}"))?;
        make_relative(&mut parts)?;
        let request = Request::from_parts(parts, body);
        let (parts, body) = exchange(stream, request).await?.into_parts();
        Ok(BytesResponse {
            parts,
            body: Box::new(body),
        })
    }
}

async fn connect(host: &str, port: u16) -> Result<TcpStream, Failure> {
    let stream = TcpStream::connect((host, port)).await;
    Ok(stream.map_err(|error| format!("{host}:{port}: {error}"))?)
}

/// Moves the authority of an absolute URL into the field Host.
fn make_relative(parts: &mut http::request::Parts) -> Result<(), Failure> {
    let authority = parts.uri.authority().ok_or("the URL has no host")?;
    let authority = HeaderValue::from_str(authority.as_str())?;
    parts.headers.insert(header::HOST, authority);
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse::<Uri>()?;
    Ok(())
}

/// Sends one request over a connection of its own.
async fn exchange<S, B>(stream: S, request: Request<B>) -> Result<Response<Bytes>, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Failure>,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let driven = tokio::spawn(connection);
    let (parts, body) = sender.send_request(request).await?.into_parts();
    let body = Limited::new(body, LONGEST).collect().await?.to_bytes();
    driven.abort();
    Ok(Response::from_parts(parts, body))
}

/// Sends a body to a URL without TLS, as OCSP responders have it. Returns the body of the response.
pub async fn post(url: &str, kind: &'static str, body: Vec<u8>) -> Result<Vec<u8>, String> {
    let sent = tokio::time::timeout(PATIENCE, post_plainly(url, kind, body)).await;
    let sent = sent.unwrap_or_else(|_| Err("the responder does not answer".into()));
    sent.map_err(|error| format!("{url}: {error}"))
}

async fn post_plainly(url: &str, kind: &'static str, body: Vec<u8>) -> Result<Vec<u8>, Failure> {
    let request = Request::post(url).header(header::CONTENT_TYPE, kind);
    let (mut parts, body) = request.body(Full::new(Bytes::from(body)))?.into_parts();
    let host = match parts.uri.host() {
        Some(host) if parts.uri.scheme_str() == Some("http") => host,
        _ => return Err("expected an http:// URL".into()),
    };
    let port = parts.uri.port_u16().unwrap_or(80);
    let stream = connect(host.trim_matches(['[', ']']), port).await?;
    make_relative(&mut parts)?;
    let response = exchange(stream, Request::from_parts(parts, body)).await?;
    match response.status() {
        http::StatusCode::OK => Ok(response.into_body().into()),
        status => Err(format!("the responder answers {status}").into()),
    }
}

impl HttpClient for Client {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, instant_acme::Error>> + Send>> {
        let sent = self.clone().send(request);
        Box::pin(async move {
            let sent = tokio::time::timeout(PATIENCE, sent).await;
            let sent = sent.unwrap_or_else(|_| Err("the authority does not answer".into()));
            sent.map_err(instant_acme::Error::Other)
        })
    }
}
