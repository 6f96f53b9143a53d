//! Decides which of a site's addresses use TLS.

use super::Site;
use crate::{Host, Listen};

impl Site {
    /// Tells whether connections at this address begin with TLS. The address's own setting decides.
    /// Without such a setting, `SSLEngine` of a virtual host with the port, or of the main server,
    /// decides. Without `SSLEngine`, port 443 uses TLS if there is a certificate.
    pub fn is_secure(&self, listen: &Listen) -> bool {
        let port = listen.address.rsplit_once(':');
        let port: Option<u16> = port.and_then(|(_, port)| port.parse().ok());
        let is_for_port = |host: &&Host| {
            let mut addresses = host.addresses.iter();
            addresses.any(|address| address.port.is_some() && address.port == port)
        };
        let of_port = || {
            let hosts = self.hosts.iter().filter(is_for_port);
            hosts.filter_map(|host| host.tls.engine).max()
        };
        let mut all = self.all_hosts();
        let by_port = port == Some(443) && all.any(|host| host.tls.has_certificate());
        let engine = of_port().or(self.main.tls.engine).unwrap_or(by_port);
        listen.secure.unwrap_or(engine) && !listen.address.starts_with("unix:")
    }
}
