//! Provides a TLS client that accepts every certificate and shows it to the test.

use crate::pair::Pair;
use mehari_harness::{Server, PATIENCE};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// A verifier that accepts any certificate, because the tests compare the certificates themselves.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::aws_lc_rs::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[derive(Clone)]
pub struct Client(pub ClientConfig);

impl Client {
    pub fn new(
        versions: &[&'static rustls::SupportedProtocolVersion],
        own: Option<&Pair>,
    ) -> Client {
        let builder = ClientConfig::builder_with_provider(Arc::new(
            rustls::crypto::aws_lc_rs::default_provider(),
        ))
        .with_protocol_versions(versions)
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone));
        Client(match own {
            None => builder.with_no_client_auth(),
            Some(own) => {
                let key = PrivateKeyDer::Pkcs8(own.key.serialize_der().into());
                let with = builder.with_client_auth_cert(vec![own.der()], key);
                with.expect("a client's certificate")
            }
        })
    }

    pub fn plain() -> Client {
        Client::new(&[&rustls::version::TLS13], None)
    }

    /// Requests a path of `site.example`. Returns all received bytes, and the connection.
    pub fn ask(&self, server: &Server, path: &str) -> std::io::Result<(String, ClientConnection)> {
        self.ask_host(server, "site.example", "site.example", path)
    }

    /// Requests a path with one host name in SNI and another in the request.
    pub fn ask_host(
        &self,
        server: &Server,
        greeted: &'static str,
        host: &str,
        path: &str,
    ) -> std::io::Result<(String, ClientConnection)> {
        let name = ServerName::try_from(greeted).expect("a name");
        let connection = ClientConnection::new(Arc::new(self.0.clone()), name).expect("a client");
        let socket = TcpStream::connect(server.address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut stream = rustls::StreamOwned::new(connection, socket);
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut text = String::new();
        // Without the server's close_notify, reading fails. A success therefore means that nothing
        // was cut off.
        stream.read_to_string(&mut text)?;
        Ok((text, stream.conn))
    }

    /// Returns the certificate that a client without a session gets.
    pub fn shown(server: &Server) -> Option<CertificateDer<'static>> {
        let (_, connection) = Client::plain().ask(server, "/page.html").ok()?;
        connection
            .peer_certificates()?
            .first()
            .cloned()
            .map(CertificateDer::into_owned)
    }
}
