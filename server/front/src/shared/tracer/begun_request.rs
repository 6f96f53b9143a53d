//! What the tracer looks at when a request begins.

use super::sampler::Sample;
use crate::request::{Fields, Peer, Protocol};
use mehari_http::host::split_port;
use mehari_observe::export::{HttpVersion, RequestTexts, SampledRequest, Scheme, TextParts};

/// A request whose head is complete.
pub struct BegunRequest<'a> {
    pub id: u64,
    pub method: &'a [u8],
    /// Path and query.
    pub target: &'a [u8],
    /// The host that the client asked for, with its port.
    pub host: &'a [u8],
    pub protocol: Protocol,
    pub fields: Fields<'a>,
    pub peer: &'a Peer,
    /// The client that a trusted proxy has named, or else the peer.
    pub client: &'a Peer,
}

impl BegunRequest<'_> {
    /// Returns what the exporter needs of the request beyond its timeline. `memory`: for its texts.
    pub(super) fn sampled(&self, sample: Sample<'_>, memory: Vec<u8>) -> SampledRequest {
        let (host, port) = match split_port(self.host) {
            (b"", _) => (
                self.peer.server_addr.as_bytes(),
                Some(self.peer.server_port),
            ),
            (host, digits) => (host, port_of(digits)),
        };
        SampledRequest {
            identity: sample.identity,
            state: sample.state,
            flags: sample.flags,
            scheme: match self.peer.tls {
                Some(_) => Scheme::Https,
                None => Scheme::Http,
            },
            version: match self.protocol {
                Protocol::Http10 => HttpVersion::Http10,
                Protocol::Http11 => HttpVersion::Http11,
                Protocol::Http2 => HttpVersion::Http2,
            },
            texts: RequestTexts::new(
                TextParts {
                    target: self.target,
                    peer: self.peer.remote_addr.as_bytes(),
                    host,
                    client: self.named_client(),
                    user_agent: sample.user_agent,
                },
                memory,
            ),
            port,
        }
    }

    /// Returns the client that a trusted proxy has named, or nothing.
    fn named_client(&self) -> &[u8] {
        if std::ptr::eq(self.client, self.peer) {
            b""
        } else {
            self.client.remote_addr.as_bytes()
        }
    }
}

fn port_of(digits: &[u8]) -> Option<u16> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
