//! Tests back ends over HTTP: requests to them, the choice between them, and bodies in both
//! directions.

mod asked;
mod busy;
mod files;
mod health;
mod members;
mod passing;
mod smuggling;

use mehari_harness::{BackEnd, Builder, Server};

/// Returns a site with one Perl worker.
pub fn builder(conf: &str) -> Builder {
    let common = "StartServers 1\nMaxRequestWorkers 1\n";
    Server::builder().conf(common).conf(conf)
}

pub fn balancer(members: &[&BackEnd], parameters: &str, set: &str) -> Server {
    builder(&balancer_conf(members, parameters, set)).start()
}

fn balancer_conf(members: &[&BackEnd], parameters: &str, set: &str) -> String {
    let mut conf = String::from("<Proxy balancer://pool>\n");
    for member in members {
        conf.push_str(&format!("BalancerMember {} {parameters}\n", member.url()));
    }
    if !set.is_empty() {
        conf.push_str(&format!("ProxySet {set}\n"));
    }
    conf + "</Proxy>\nProxyPass / balancer://pool/\n"
}

/// Returns the members in the output of `mehari status`.
pub fn members(server: &Server) -> Vec<serde_json::Value> {
    let status = server.status();
    status["back_ends"][0]["members"]
        .as_array()
        .expect("members")
        .clone()
}
