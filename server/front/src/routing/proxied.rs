//! Makes the routes to back ends: of `ProxyPass`, and of sections with a back end as handler.

use super::mapping::Mapping;
use super::{Route, RouteOutcome};
use mehari_config::{EncodedSlashes, Handler, Pass, PassFrom, Proxied, Settings, Site, Speech};
use mehari_http::path::{remove_dot_segments, Path};
use mehari_text::percent;
use std::sync::Arc;

/// Returns the first `ProxyPass` outside of sections that matches the path. `None`: no `ProxyPass`
/// matches, or the matching one excludes the path.
pub fn pass(passes: &[Pass], path: &Path) -> Option<Arc<Proxied>> {
    let mut passes = passes.iter();
    let pass = passes.find(|pass| pass.from.matches(&path.merged))?;
    pass.to.clone()
}

/// Returns the route to a back end for a URL path. `raw` is the path as sent. `raw` is `None` after
/// an internal redirect. Returns `None` if the configuration cannot represent the path.
pub fn route(
    site: &Site,
    host: u32,
    settings: Arc<Settings>,
    proxied: Arc<Proxied>,
    path: &Path,
    raw: Option<&[u8]>,
    mapping: Mapping,
) -> Option<Route> {
    let speech = site.upstream(&proxied.upstream)?.speech();
    let is_kept = !proxied.raw && site.host(host).mapping.encoded_slashes() == EncodedSlashes::Kept;
    let target = match (proxied.raw || path.encoded_slash, raw) {
        (true, Some(raw)) => proxied.path(&remove_dot_segments(raw).ok()?)?,
        (true, None) if is_kept => with_slashes_as_sent(&encoded(&proxied, path)?),
        (true, None) => return None,
        (false, _) => encoded(&proxied, path)?,
    };
    let (script, file) = match speech {
        Speech::Http => (0, Vec::new()),
        Speech::FastCgi | Speech::Scgi | Speech::Uwsgi => script(&proxied, path, &target, mapping),
    };
    Some(Route {
        host,
        settings,
        handler: Handler::Proxy(proxied),
        file,
        script_name: path.merged[..script].to_vec(),
        path_info: path.merged[script..].to_vec(),
        outcome: RouteOutcome::Proxied(target),
        intermediate_settings: Vec::new(),
        is_looked_up: false,
        led_to: None,
        action: None,
        index_of: None,
        file_mark: None,
    })
}

/// Returns the path for the back end in canonical form: decoded, then percent-encoded again.
fn encoded(proxied: &Proxied, path: &Path) -> Option<Vec<u8>> {
    let to = match &proxied.to {
        None => return Some(percent::encode_path(&path.merged)),
        Some(to) => to,
    };
    let rest = proxied.path(&path.merged)?;
    match (&proxied.from, rest.strip_prefix(to.as_bytes())) {
        (PassFrom::Prefix(_), Some(rest)) => {
            Some([to.as_bytes(), &percent::encode_path(rest)].concat())
        }
        _ => Some(percent::encode_path(&rest)),
    }
}

/// Undoes the encoding of a `%2F` as `%252F`.
pub fn with_slashes_as_sent(path: &[u8]) -> Vec<u8> {
    let mut sent = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = memchr::memmem::find(rest, b"%252") {
        let is_slash = rest
            .get(at + 4)
            .is_some_and(|byte| matches!(byte, b'f' | b'F'));
        sent.extend_from_slice(&rest[..at + 1]);
        rest = &rest[at + if is_slash { 3 } else { 1 }..];
    }
    sent.extend_from_slice(rest);
    sent
}

/// Returns the length of SCRIPT_NAME in the path, and SCRIPT_FILENAME. SCRIPT_NAME ends behind
/// `.php`. Without `.php` in the path, SCRIPT_NAME is the prefix that the configuration names.
fn script(proxied: &Proxied, path: &Path, target: &[u8], mapping: Mapping) -> (usize, Vec<u8>) {
    let php = memchr::memmem::find(&path.merged, b".php")
        .map(|at| at + 4)
        .filter(|&end| matches!(path.merged.get(end), None | Some(b'/')));
    let mount = match &proxied.from {
        PassFrom::Prefix(prefix) => prefix.trim_end_matches('/').len(),
        PassFrom::Match(_) => path.merged.len(),
    };
    let script = php.unwrap_or(mount).min(path.merged.len());
    let rest = path.merged.len() - script;
    let named = proxied.to.as_deref().is_some_and(|to| to.len() > 1);
    let mut file = if named {
        Path::decode(target).map_or_else(|_| target.to_vec(), |path| path.merged)
    } else {
        mapping.file
    };
    if php.is_some() {
        file.truncate(file.len().saturating_sub(rest));
    }
    (script, file)
}
