//! Translates the configuration into the library's terms: versions, ciphers, certificates, clients,
//! tickets.

use super::certificate::{self, Certificates};
use super::client;
use super::hosts::Trouble;
use super::managed::Managed;
use mehari_config::{TlsSettings, TlsVersion};
use rustls::crypto::{aws_lc_rs, CryptoProvider};
use rustls::server::{ProducesTickets, ResolvesServerCert};
use rustls::{ServerConfig, SupportedCipherSuite, SupportedProtocolVersion};
use std::sync::Arc;

/// Returns the cryptography library that all TLS code of Mehari uses.
pub fn provider() -> CryptoProvider {
    aws_lc_rs::default_provider()
}

/// Makes the keys for session tickets. The library replaces the keys every few hours.
pub fn tickets(settings: &TlsSettings) -> Result<Option<Arc<dyn ProducesTickets>>, Trouble> {
    if settings.tickets == Some(false) {
        return Ok(None);
    }
    let tickets = aws_lc_rs::Ticketer::new();
    tickets
        .map(Some)
        .map_err(|error| Trouble::Settings(format!("session tickets: {error}")))
}

pub fn build(
    settings: &TlsSettings,
    tickets: Option<Arc<dyn ProducesTickets>>,
    managed: &Managed,
) -> Result<Arc<ServerConfig>, Trouble> {
    let mut provider = provider();
    provider.cipher_suites = ciphers(&provider.cipher_suites, &settings.ciphers);
    let provider = Arc::new(provider);
    let certificates: Arc<dyn ResolvesServerCert> = match &settings.managed {
        Some(domain) => managed.slot(domain)?,
        None => Arc::new(Certificates::load(settings, &provider)?),
    };
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions(&settings.versions))
        .map_err(|error| Trouble::Settings(format!("SSLProtocol and SSLCipherSuite: {error}")))?;
    let builder = match client::verifier(settings, provider)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(certificates);
    config.ignore_client_order = settings.own_order == Some(true);
    config.alpn_protocols = match settings.http2 {
        Some(false) => vec![b"http/1.1".to_vec()],
        _ => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    match tickets {
        Some(tickets) => config.ticketer = tickets,
        None => {
            config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
    }
    Ok(Arc::new(config))
}

fn versions(wanted: &[TlsVersion]) -> Vec<&'static SupportedProtocolVersion> {
    let of = |version: &TlsVersion| match version {
        TlsVersion::Tls12 => &rustls::version::TLS12,
        TlsVersion::Tls13 => &rustls::version::TLS13,
    };
    // The newest version comes first.
    wanted.iter().rev().map(of).collect()
}

fn ciphers(offered: &[SupportedCipherSuite], wanted: &[&str]) -> Vec<SupportedCipherSuite> {
    if wanted.is_empty() {
        return offered.to_vec();
    }
    let named = |name: &&str| {
        let is = |suite: &&SupportedCipherSuite| format!("{:?}", suite.suite()) == **name;
        offered.iter().find(is).copied()
    };
    wanted.iter().filter_map(named).collect()
}

pub use certificate::read_certificates;
