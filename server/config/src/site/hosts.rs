//! The hosts of a site, and the choice of a request's host.

use std::net::IpAddr;

use super::Site;
use crate::Host;

impl Site {
    /// Returns the host with this number.
    pub fn host(&self, number: u32) -> &Host {
        match number {
            0 => &self.main,
            number => self.hosts.get(number as usize - 1).unwrap_or(&self.main),
        }
    }

    /// Tells whether a PerlProcessConnectionHandler serves the connections of any host.
    pub fn gives_connections(&self) -> bool {
        self.all_hosts().any(Host::gives_connections)
    }

    /// Returns the main server, then the virtual hosts.
    pub fn all_hosts(&self) -> impl Iterator<Item = &Host> {
        std::iter::once(&self.main).chain(&self.hosts)
    }

    /// Returns the host for a request to this local address and this name (without port, in any
    /// case). As in Apache, only the hosts whose address matches most specifically are compared. Of
    /// these, the first host with this name is chosen, or else the first host. If no host has a
    /// matching address, the main server is chosen.
    ///
    /// The function examines every host, so the caller keeps the result.
    pub fn host_for(&self, ip: Option<IpAddr>, port: u16, name: &[u8]) -> u32 {
        let fit = |host: &Host| {
            let addresses = host.addresses.iter();
            addresses
                .filter_map(|address| address.fit(ip, port, self.any_port))
                .max()
        };
        let Some(best) = self.hosts.iter().filter_map(fit).max() else {
            return 0;
        };
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        let name = name.strip_suffix('.').unwrap_or(&name);
        let mut group = self.hosts.iter().filter(|host| fit(host) == Some(best));
        let first = group.clone().next();
        let named = group.find(|host| host.names.has(name));
        named.or(first).map_or(0, |host| host.number)
    }
}

impl Site {
    /// Returns messages about configurations that are valid but probably not intended. The server
    /// logs them when it starts, and `mehari check` prints them.
    pub fn doubts(&self) -> Vec<String> {
        // The default document root, which a site without files has.
        let unnamed = self.server_root.join("htdocs");
        std::iter::once(&self.main)
            .chain(&self.hosts)
            .filter(|host| {
                host.mapping.document_root != unnamed && !host.mapping.document_root.is_dir()
            })
            .map(|host| {
                format!(
                    "DocumentRoot {} is not a folder: requests for files there find nothing",
                    host.mapping.document_root.display()
                )
            })
            .chain(self.managed_doubts())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostAddress;

    type Written<'a> = (&'a [(Option<&'a str>, Option<u16>)], &'a str, &'a [&'a str]);

    fn site(hosts: &[Written]) -> Site {
        let mut site = Site::defaults();
        for (number, (addresses, name, aliases)) in (1..).zip(hosts) {
            let addresses = addresses.iter().map(|(ip, port)| HostAddress {
                ip: ip.map(|ip| ip.parse().expect("an address")),
                port: *port,
            });
            let mut host = Host::virtual_host(addresses.collect(), site.main.base.clone());
            host.number = number;
            host.names.server_name = Some(name.to_string());
            host.names.aliases = aliases.iter().map(|name| name.to_string()).collect();
            site.hosts.push(host);
        }
        site
    }

    #[test]
    fn the_address_decides_before_the_name_and_the_first_host_is_the_default() {
        let site = site(&[
            (
                &[(None, Some(80))],
                "a.example",
                &["*.a.example", "w?w.example"],
            ),
            (&[(None, Some(80))], "b.example", &[]),
            (&[(Some("10.0.0.1"), Some(80))], "c.example", &[]),
            (&[(None, None)], "d.example", &[]),
            (&[(Some("10.0.0.1"), None)], "e.example", &[]),
        ]);
        let of = |ip: &str, port, name: &str| site.host_for(ip.parse().ok(), port, name.as_bytes());
        for (ip, port, name, expected) in [
            ("127.0.0.1", 80, "a.example", 1),
            ("127.0.0.1", 80, "A.Example.", 1),
            ("127.0.0.1", 80, "x.a.example", 1),
            ("127.0.0.1", 80, "wow.example", 1),
            ("127.0.0.1", 80, "b.example", 2),
            ("127.0.0.1", 80, "unknown", 1),
            ("127.0.0.1", 80, "c.example", 1),
            ("10.0.0.1", 80, "b.example", 3),
            ("10.0.0.1", 81, "b.example", 5),
            ("127.0.0.1", 81, "b.example", 4),
        ] {
            assert_eq!(of(ip, port, name), expected, "{ip}:{port} {name}");
        }
    }

    #[test]
    fn without_a_fitting_address_the_main_server_answers() {
        let mut site = site(&[(&[(None, Some(80))], "a.example", &[])]);
        assert_eq!(site.host_for(None, 8080, b"a.example"), 0);
        site.any_port = true;
        assert_eq!(site.host_for(None, 8080, b"a.example"), 1);
    }
}
