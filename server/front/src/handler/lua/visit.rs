//! What a script sees of a request.

use crate::handler::perl::{scheme, server_name};
use crate::path::Path;
use crate::request::Request;
use crate::route::Route;
use mehari_config::Host;
use mehari_edge::{Attribute, Visit};

/// The request before it is mapped; with its route, once it is.
pub fn fill(visit: &mut Visit, request: &Request<'_>, host: &Host, route: Option<&Route>) {
    let path = request.path();
    match Path::decode(path) {
        Ok(decoded) => visit.tell(Attribute::UriPath, &decoded.bytes),
        // `pass` refuses such a path.
        Err(_) => visit.tell(Attribute::UriPath, path),
    }
    visit.tell(Attribute::UriPathRaw, path);
    visit.tell(Attribute::UriScheme, scheme(request));
    visit.tell(Attribute::UriAuthority, request.host);
    if request.resource.len() > path.len() {
        visit.tell(Attribute::UriQuery, request.query());
    }
    visit.tell(Attribute::RequestMethod, request.method);
    visit.tell(Attribute::RequestUri, request.resource);
    visit.tell(Attribute::RequestOrigUri, request.target);
    visit.tell(Attribute::RequestProtocol, request.protocol.name());
    let peer = request.peer;
    visit.tell(Attribute::RemoteAddress, peer.remote_addr.as_bytes());
    visit.tell(Attribute::RemotePort, number(peer.remote_port).as_bytes());
    visit.tell(Attribute::ServerAddress, peer.server_addr.as_bytes());
    visit.tell(Attribute::ServerPort, number(peer.server_port).as_bytes());
    visit.tell(Attribute::ServerName, server_name(request, host));
    let root = host.document_root.as_os_str().as_encoded_bytes();
    visit.tell(Attribute::PhysicalDocRoot, root);
    visit.tell(Attribute::PhysicalBaseDir, root);
    if let Some(route) = route {
        tell_route(visit, root, route);
    }
    for (name, value) in request.fields {
        visit.request.push(name, value);
    }
    for (name, value) in request.notes.into_iter().flat_map(|notes| &notes.variables) {
        visit.environment.push(name, value);
    }
}

fn tell_route(visit: &mut Visit, root: &[u8], route: &Route) {
    visit.tell(Attribute::PhysicalPath, &route.file);
    let rel_path = route.file.strip_prefix(root).unwrap_or(&route.script_name);
    visit.tell(Attribute::PhysicalRelPath, rel_path);
    if !route.path_info.is_empty() {
        visit.tell(Attribute::RequestPathInfo, &route.path_info);
    }
}

fn number(port: u16) -> String {
    port.to_string()
}
