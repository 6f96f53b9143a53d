//! Runs Pebble, a small authority for tests, and the name server of its package. Every name has the
//! address 127.0.0.1.

use crate::pair::{parameters, Pair};
use mehari_harness::{eventually, PATIENCE};
use rcgen::{KeyPair, SanType};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Returns ports that are free. They stay free as long as no other process takes them.
pub fn free_ports<const N: usize>() -> [u16; N] {
    let sockets = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    sockets.map(|socket| socket.local_addr().expect("an address").port())
}

/// How the authority behaves.
pub struct Plan {
    /// Where the authority looks for http-01 and tls-alpn-01.
    pub http: u16,
    pub tls: u16,
    /// The lifetime of certificates in seconds.
    pub lifetime: u32,
    /// How many of 100 requests are refused because of their nonce.
    pub refused_nonces: u32,
    /// The URL of the OCSP responder that certificates name.
    pub responder: String,
}

impl Plan {
    pub fn of(http: u16, tls: u16) -> Plan {
        Plan {
            http,
            tls,
            lifetime: 86_400,
            refused_nonces: 0,
            responder: String::new(),
        }
    }
}

/// An authority, which ends when the value is dropped.
pub struct Authority {
    folder: tempfile::TempDir,
    port: u16,
    management: u16,
    names: u16,
    plan: Plan,
    processes: Vec<Child>,
}

impl Authority {
    pub fn start(plan: Plan) -> Authority {
        let mut authority = Authority::planned(plan);
        authority.run();
        authority
    }

    /// Returns an authority that does not run yet.
    pub fn planned(plan: Plan) -> Authority {
        let [port, management, names] = free_ports();
        let folder = tempfile::tempdir().expect("a folder");
        let root = Pair::authority();
        let key = KeyPair::generate().expect("a key");
        let mut own = parameters("localhost");
        let address = std::net::IpAddr::from([127, 0, 0, 1]);
        own.subject_alt_names.push(SanType::IpAddress(address));
        let own = own.signed_by(&key, &root.issuer()).expect("signed");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("written");
        };
        write("root.pem", &root.certificate.pem());
        write("own.pem", &own.pem());
        write("own.key", &key.serialize_pem());
        Authority {
            folder,
            port,
            management,
            names,
            plan,
            processes: Vec::new(),
        }
    }

    pub fn run(&mut self) {
        let path = |name: &str| self.folder.path().join(name);
        let config = serde_json::json!({ "pebble": {
            "listenAddress": format!("127.0.0.1:{}", self.port),
            "managementListenAddress": format!("127.0.0.1:{}", self.management),
            "certificate": path("own.pem"),
            "privateKey": path("own.key"),
            "httpPort": self.plan.http,
            "tlsPort": self.plan.tls,
            "certificateValidityPeriod": self.plan.lifetime,
            "ocspResponderURL": self.plan.responder,
        }});
        std::fs::write(path("pebble.json"), config.to_string()).expect("written");
        let names = format!("127.0.0.1:{}", self.names);
        let mut resolver = Command::new("pebble-challtestsrv");
        resolver.args([
            "-dns01",
            &names,
            "-defaultIPv4",
            "127.0.0.1",
            "-defaultIPv6",
            "",
        ]);
        resolver.args([
            "-http01",
            "",
            "-https01",
            "",
            "-tlsalpn01",
            "",
            "-management",
            "",
        ]);
        let mut pebble = Command::new("pebble");
        pebble
            .arg("-config")
            .arg(path("pebble.json"))
            .args(["-dnsserver", &names]);
        pebble.env("PEBBLE_VA_NOSLEEP", "1");
        pebble.env(
            "PEBBLE_WFE_NONCEREJECT",
            self.plan.refused_nonces.to_string(),
        );
        for mut command in [resolver, pebble] {
            let command = command.stdout(Stdio::null()).stderr(Stdio::null());
            let process = command
                .spawn()
                .expect("pebble can be run (packaging/needs/ci)");
            self.processes.push(process);
        }
        for port in [self.names, self.port, self.management] {
            let answers = || TcpStream::connect(("127.0.0.1", port)).is_ok();
            assert!(eventually(PATIENCE, answers), "pebble does not listen");
        }
    }

    pub fn stop(&mut self) {
        for mut process in self.processes.drain(..) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Returns the lines that make a site use the authority.
    pub fn conf(&self, store: &Path) -> String {
        format!(
            "MDCertificateAgreement accepted\nMDCertificateAuthority {}\nMDCACertificateFile {}\n\
             MDStoreDir {}\nMDRetryDelay 1\n",
            self.url(),
            self.root().display(),
            store.display(),
        )
    }

    pub fn url(&self) -> String {
        format!("https://localhost:{}/dir", self.port)
    }

    /// Returns a text of the management address: `/intermediates/0`, ...
    pub fn managed(&self, path: &str) -> String {
        let url = format!("https://localhost:{}{path}", self.management);
        let mut command = Command::new("curl");
        command.args(["--silent", "--fail", "--cacert"]);
        let output = command.arg(self.root()).arg(&url).output();
        let output = output.expect("curl can be run (packaging/needs/test)");
        assert!(output.status.success(), "{url}: {}", output.status);
        String::from_utf8(output.stdout).expect("text")
    }

    /// Returns what the authority says of a certificate: `Valid`, or `Revoked` and the number of
    /// the reason.
    pub fn says_of(&self, serial: &str) -> (String, Option<u64>) {
        let text = self.managed(&format!("/cert-status-by-serial/{serial}"));
        let status: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let word = status["Status"].as_str().expect("a status").to_owned();
        (word, status["Reason"].as_u64())
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root.pem")
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        self.stop();
    }
}
