//! What a connection may cost: lengths, times and numbers that the front keeps clients to.

use std::time::Duration;

/// How fast a client has to send: so many bytes buy it another second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct MinimumRate {
    /// Bytes a second; 0 buys nothing.
    pub bytes: u64,
    /// In all, however fast. `None`: as long as it keeps the rate.
    pub longest: Option<Duration>,
}

impl MinimumRate {
    /// How long may be taken in all, when `first` is given and so many bytes have come.
    pub fn allowance(&self, first: Duration, received: u64) -> Duration {
        let bought = received.saturating_mul(1000).checked_div(self.bytes);
        let bought = Duration::from_millis(bought.unwrap_or(0));
        let all = first.saturating_add(bought);
        self.longest.map_or(all, |longest| all.min(longest))
    }
}

/// What a connection may cost.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ConnectionLimits {
    /// `LimitRequestLine`, bytes.
    pub request_line: usize,
    /// `LimitRequestFields`.
    pub fields: usize,
    /// `LimitRequestFieldSize`, bytes.
    pub field_size: usize,
    /// All of the header block, bytes.
    pub header_size: usize,
    /// `RequestReadTimeout handshake=`: until TLS stands.
    pub handshake_timeout: Duration,
    /// `RequestReadTimeout header=`.
    pub header_timeout: Duration,
    /// Its `MinRate=`.
    pub header_rate: MinimumRate,
    /// `RequestReadTimeout body=`: without a byte for this long the request is given up.
    pub body_timeout: Duration,
    pub body_rate: MinimumRate,
    /// Without the client taking a byte for this long the connection is closed (`Timeout`).
    pub write_timeout: Duration,
    /// `KeepAliveTimeout`; `None` is `KeepAlive Off`.
    pub keep_alive: Option<Duration>,
    /// `MaxKeepAliveRequests`; 0 is no limit.
    pub keep_alive_requests: u64,
    /// `MaxConnections`: open client connections.
    pub connections: usize,
    /// `RemoteIPProxyProtocol`.
    pub proxy_protocol: bool,
    /// `MaxConnectionsPerClient`; 0 is no limit.
    pub connections_per_client: u32,
    /// `ClientPrefixIPv6`: the bits of an IPv6 address that name a client to be counted.
    pub client_prefix: u8,
    /// `ListenBacklog`.
    pub backlog: u32,
}
