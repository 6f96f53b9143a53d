//! Finds out where a file or a URL path is served, and by which handler. `mehari explain` asks this
//! without a request, so rules and Perl's handlers do not run.

use super::htaccess::HtaccessTable;
use super::{find, RouteOutcome, Sought};
use mehari_config::{Handler, Host, Site};
use mehari_observe::{AccessEntry, Journal, Origin};
use mehari_text::percent;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A URL path of a host, and what the configuration says of it.
#[derive(Debug)]
pub struct ServedUrl {
    /// The number of the host in the site.
    pub host: u32,
    /// The URL path, decoded.
    pub url_path: String,
    /// The script or file.
    pub file: PathBuf,
    /// The handler, or why requests are refused.
    pub handler: Result<Handler, String>,
    /// Whether `PerlIsolation rewind` isolates the requests of this handler.
    pub isolated: bool,
}

/// A journal that drops everything. The result of the search contains the problems of .htaccess
/// files.
pub struct Silent;

impl Journal for Silent {
    fn access(&self, _: u32, _: &AccessEntry<'_>) {}
    fn error(&self, _: u32, _: mehari_config::LogLevel, _: Origin, _: &str) {}
}

/// Returns the URLs of an existing file, or a URL path on each host.
pub fn places_of(site: &Site, what: &Path) -> Vec<ServedUrl> {
    let journal: Rc<dyn Journal> = Rc::new(Silent);
    let htaccess = HtaccessTable::new(journal);
    let file = what.is_file().then_some(what);
    let each = site.all_hosts().flat_map(|host| {
        let paths = match file {
            Some(file) => host.mapping.url_paths(file),
            None => vec![what.to_string_lossy().into_owned()],
        };
        let places = paths.into_iter().map(|path| (host, path));
        places.collect::<Vec<_>>()
    });
    each.map(|(host, path)| place(site, &htaccess, host, path))
        .filter(|place| file.is_none_or(|file| is_same(&place.file, file)))
        .collect()
}

pub(super) fn place(
    site: &Site,
    htaccess: &HtaccessTable,
    host: &Host,
    url_path: String,
) -> ServedUrl {
    let raw = percent::encode_path(url_path.as_bytes());
    let place = |file: &[u8], handler| ServedUrl {
        host: host.number,
        url_path: url_path.clone(),
        file: PathBuf::from(std::ffi::OsStr::from_bytes(file)),
        handler,
        isolated: false,
    };
    match find(site, htaccess, Sought::path(host.number, &raw)) {
        Ok(route) => match route.outcome {
            RouteOutcome::Refused(problem) => place(&route.file, Err(problem.reason.to_string())),
            _ => ServedUrl {
                isolated: route.settings.programs.rewound && is_of_perl(&route.handler),
                ..place(&route.file, Ok(route.handler))
            },
        },
        Err(problem) => place(b"", Err(problem.reason.to_string())),
    }
}

/// Whether the handler runs in a worker and is no script.
fn is_of_perl(handler: &Handler) -> bool {
    matches!(handler, Handler::Perl { .. } | Handler::Psgi(_))
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || (real(one).is_some() && real(one) == real(other))
}
