//! Maps a path by `VirtualDocumentRoot` and `VirtualScriptAlias`: the folder's name is made of the
//! request's host. `pipeline::rewrite` and `pipeline::subrequest` call [`map`].

use crate::request::rule_state::RuleState;
use crate::request::{canonical, Request};
use mehari_config::{virtual_root, Host, VirtualRoot};
use mehari_http::problem::Problem;
use std::borrow::Cow;

/// The prefix of the paths that `VirtualScriptAlias` maps.
const PROGRAMS: &[u8] = b"/cgi-bin";

const NO_FOLDER: Problem = Problem::refused(404, "the host's name gives no folder");

/// The file of a path in a folder named after the host.
#[derive(Debug, Clone)]
pub struct VirtualFile {
    pub file: Vec<u8>,
    /// The folder: the document root of the request.
    pub document_root: Vec<u8>,
    /// Whether the file is a CGI program of `VirtualScriptAlias`.
    pub is_program: bool,
}

/// Maps a decoded path. `None`: no folder is named after the host, or an alias or `UserDir` maps
/// the path.
pub fn map(
    host: &Host,
    request: &Request<'_>,
    path: &[u8],
) -> Result<Option<VirtualFile>, Problem> {
    let roots = &host.rules.virtual_roots;
    if !roots.are_any() || is_mapped(host, path) {
        return Ok(None);
    }
    let program = path.strip_prefix(PROGRAMS);
    let program = program.filter(|rest| rest.starts_with(b"/") && roots.scripts.is_some());
    let (root, rest) = match program {
        Some(rest) => (&roots.scripts, rest),
        None => (&roots.documents, path),
    };
    let Some(root) = root.as_ref().filter(|root| **root != VirtualRoot::Off) else {
        return Ok(None);
    };
    let folder = folder(root, host, request).ok_or(NO_FOLDER)?;
    Ok(Some(VirtualFile {
        file: [folder.as_bytes(), rest].concat(),
        document_root: folder.into_bytes(),
        is_program: program.is_some(),
    }))
}

/// Returns the document root of a request: the folder named after the host, or else the configured
/// folder.
pub fn document_root<'a>(host: &'a Host, rule_state: Option<&'a RuleState>) -> &'a [u8] {
    let named = rule_state.and_then(|state| state.mapping.document_root.as_deref());
    named.unwrap_or_else(|| host.mapping.document_root.as_os_str().as_encoded_bytes())
}

fn folder(root: &VirtualRoot, host: &Host, request: &Request<'_>) -> Option<String> {
    let (pieces, name) = match root {
        VirtualRoot::Off => return None,
        VirtualRoot::Named(pieces) => (pieces, canonical::name(request, &host.names)),
        VirtualRoot::Addressed(pieces) => {
            let address = request.peer.server_addr.as_bytes();
            (pieces, Cow::Borrowed(address))
        }
    };
    let name = std::str::from_utf8(&name).ok()?;
    virtual_root::folder(pieces, name, canonical::port(request, &host.names))
}

/// Whether an alias or `UserDir` maps the path.
fn is_mapped(host: &Host, path: &[u8]) -> bool {
    let dirs = host.mapping.user_dirs.as_ref();
    host.mapping.has_alias(path) || dirs.is_some_and(|dirs| dirs.asked(path).is_some())
}
