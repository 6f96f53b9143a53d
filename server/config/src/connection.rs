//! The limits of a client connection: lengths, times and numbers.

use std::time::Duration;

/// The minimum rate at which a client must send. Whenever `bytes` bytes were received, the time
/// limit grows by one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct MinimumRate {
    /// Bytes per second. 0: received bytes add no time.
    pub bytes: u64,
    /// The upper bound of the time limit. `None`: there is no bound while the client keeps the
    /// rate.
    pub longest: Option<Duration>,
}

impl MinimumRate {
    /// Returns the whole time limit: `first` and the time that `received` bytes add to `first`.
    pub fn allowance(&self, first: Duration, received: u64) -> Duration {
        let bought = received.saturating_mul(1000).checked_div(self.bytes);
        let bought = Duration::from_millis(bought.unwrap_or(0));
        let all = first.saturating_add(bought);
        self.longest.map_or(all, |longest| all.min(longest))
    }
}

/// The limits of a connection.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ConnectionLimits {
    /// `LimitRequestLine`, bytes.
    pub request_line: usize,
    /// `LimitRequestFields`.
    pub fields: usize,
    /// `LimitRequestFieldSize`, bytes.
    pub field_size: usize,
    /// The whole header section, in bytes.
    pub header_size: usize,
    /// `RequestReadTimeout handshake=`: the limit of the TLS handshake.
    pub handshake_timeout: Duration,
    /// `RequestReadTimeout header=`.
    pub header_timeout: Duration,
    /// The minimum rate of `RequestReadTimeout header=`.
    pub header_rate: MinimumRate,
    /// `RequestReadTimeout body=`: the request ends after this long without a byte.
    pub body_timeout: Duration,
    pub body_rate: MinimumRate,
    /// `Timeout`: the connection closes if the client reads nothing for this long.
    pub write_timeout: Duration,
    /// `KeepAliveTimeout`. `None`: `KeepAlive Off`.
    pub keep_alive: Option<Duration>,
    /// `MaxKeepAliveRequests`. 0: no limit.
    pub keep_alive_requests: u64,
    /// `MaxConnections`: the most open client connections.
    pub connections: usize,
    /// `RemoteIPProxyProtocol`.
    pub proxy_protocol: bool,
    /// `RemoteIPProxyProtocolExceptions`: clients whose connections have no PROXY header.
    pub proxy_protocol_exceptions: Vec<crate::Network>,
    /// `MaxConnectionsPerClient`. 0: no limit.
    pub connections_per_client: u32,
    /// `ClientPrefixIPv6`: the number of leading bits of an IPv6 address that identify a client.
    pub client_prefix: u8,
    /// `ListenBacklog`.
    pub backlog: u32,
}
