//! Shows a request to a script.

use crate::handlers::perl::scheme;
use crate::request::virtual_root::document_root;
use crate::request::{canonical, hop, Fields, Request};
use crate::routing::Route;
use mehari_config::Host;
use mehari_edge::{Attribute, Source};
use mehari_http::path::Path;
use std::borrow::Cow;

/// A request for a script. The route is missing before the request is mapped.
pub struct ScriptRequest<'a> {
    pub request: Request<'a>,
    pub host: &'a Host,
    pub route: Option<&'a Route>,
    pub body: Option<&'a [u8]>,
}

impl Source for ScriptRequest<'_> {
    fn attribute(&self, attribute: Attribute) -> Option<Cow<'_, [u8]>> {
        let request = &self.request;
        let peer = request.peer;
        let text: &[u8] = match attribute {
            Attribute::UriPath => return Some(self.decoded_path()),
            Attribute::UriPathRaw => request.path(),
            Attribute::UriScheme => scheme(request),
            Attribute::UriAuthority => request.host,
            Attribute::UriQuery if request.resource.len() == request.path().len() => return None,
            Attribute::UriQuery => request.query(),
            Attribute::RequestMethod => request.method,
            Attribute::RequestUri => request.resource,
            Attribute::RequestOrigUri => request.target,
            Attribute::RequestProtocol => request.protocol.name(),
            Attribute::RemoteAddress => peer.remote_addr.as_bytes(),
            Attribute::RemotePort => return Some(number(peer.remote_port)),
            Attribute::ServerAddress => peer.server_addr.as_bytes(),
            Attribute::ServerPort => return Some(number(peer.server_port)),
            Attribute::ServerName => return Some(canonical::name(request, &self.host.names)),
            Attribute::PhysicalDocRoot | Attribute::PhysicalBaseDir => self.root(),
            Attribute::PhysicalPath => &self.route?.file,
            Attribute::PhysicalRelPath => self.rel_path()?,
            Attribute::RequestPathInfo => match &self.route?.path_info[..] {
                b"" => return None,
                path_info => path_info,
            },
        };
        Some(Cow::Borrowed(text))
    }

    fn fields(&self, tell: &mut dyn FnMut(&[u8], &[u8])) {
        let fields = self.request.fields;
        let kept = hop::without_named(fields);
        for (name, value) in kept.as_deref().map_or(fields, Fields::List) {
            tell(name, value);
        }
    }

    fn body(&self) -> Option<&[u8]> {
        self.body
    }

    fn variables(&self, tell: &mut dyn FnMut(&[u8], &[u8])) {
        let state = self.request.rule_state.into_iter();
        for (name, value) in state.flat_map(|state| &state.variables) {
            tell(name, value);
        }
    }
}

impl ScriptRequest<'_> {
    fn decoded_path(&self) -> Cow<'_, [u8]> {
        let path = self.request.path();
        match Path::decode(path) {
            Ok(decoded) => Cow::Owned(decoded.bytes),
            // The rules will refuse such a path.
            Err(_) => Cow::Borrowed(path),
        }
    }

    fn root(&self) -> &[u8] {
        document_root(self.host, self.request.rule_state)
    }

    fn rel_path(&self) -> Option<&[u8]> {
        let route = self.route?;
        let below = route.file.strip_prefix(self.root());
        Some(below.unwrap_or(&route.script_name))
    }
}

fn number(port: u16) -> Cow<'static, [u8]> {
    Cow::Owned(port.to_string().into_bytes())
}
