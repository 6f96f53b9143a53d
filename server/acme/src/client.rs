//! Sends requests to the authority: HTTPS only, one connection a request, with limits of time and
//! size.

use crate::Error;
use bytes::Bytes;
use http::{header, HeaderValue, Request, Uri};
use http_body_util::{BodyExt, Limited};
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
        let stream = TcpStream::connect((bare.as_str(), port)).await;
        let stream = stream.map_err(|error| format!("{host}:{port}: {error}"))?;
        let name = ServerName::try_from(bare)?;
        let stream = self.0.connect(name, stream).await;
        let stream = stream.map_err(|error| format!("{host}:{port}: {error}"))?;
        let authority = parts
            .uri
            .authority()
            .map_or(host.as_str(), |all| all.as_str());
        let authority = HeaderValue::from_str(authority)?;
        parts.headers.insert(header::HOST, authority);
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        parts.uri = path.parse::<Uri>()?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let driven = tokio::spawn(connection);
        let response = sender
            .send_request(Request::from_parts(parts, body))
            .await?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, LONGEST).collect().await?.to_bytes();
        driven.abort();
        Ok(BytesResponse {
            parts,
            body: Box::new(body),
        })
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
