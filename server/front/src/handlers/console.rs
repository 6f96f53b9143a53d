//! Guards the console of `SetHandler mehari-console` before a request goes to the console's
//! process.
//!
//! The access stage has admitted the client already. This module refuses what the access rules do
//! not see: a place whose rules decide nothing, a name that is not this server's, and a page of
//! another site that makes a browser send a request with the user's credentials.

use crate::content::{page, Answer};
use crate::request::{canonical, Request};
use crate::routing::Route;
use mehari_config::{AllowDeny, HostNames, Settings};
use mehari_http::problem::Problem;
use mehari_text::percent;
use std::net::IpAddr;

/// The field that the console's pages send with each request for figures. A page of another site
/// cannot send the field without the server's consent (a CORS preflight), which no answer gives.
const FIELD: &str = "x-mehari-console";

const OPEN: Problem = Problem::refused(
    403,
    "the console is shown only where a Require decides who may see it",
);
const FOREIGN_NAME: Problem = Problem::refused(
    403,
    "the console is shown under an IP address, localhost, ServerName or a ServerAlias",
);
const FOREIGN_PAGE: Problem = Problem::refused(
    403,
    "the console gives its figures only to its own pages, which send X-Mehari-Console",
);

/// Checks a request for the console. `path` is the path below the console's place. `None`: the
/// request goes to the console's process.
pub fn answer(
    request: &Request<'_>,
    route: &Route,
    names: &HostNames,
    path: &[u8],
) -> Result<Option<Answer>, Problem> {
    if !is_guarded(&route.settings, request.method) {
        return Err(OPEN);
    }
    if !is_own_name(names, request.host_name()) {
        return Err(FOREIGN_NAME);
    }
    if request.method != b"GET" && request.method != b"HEAD" {
        return Ok(Some(Answer::new(405, "Allow: GET, HEAD\r\n")));
    }
    if path.is_empty() {
        return Ok(Some(with_slash(request, route, names)));
    }
    if path.starts_with(b"/api/") && request.fields.get(FIELD).is_none() {
        Err(FOREIGN_PAGE)
    } else {
        Ok(None)
    }
}

/// Redirects from the console's place to the place with a slash, because the pages name each other
/// by relative paths.
fn with_slash(request: &Request<'_>, route: &Route, names: &HostNames) -> Answer {
    let path = [&percent::encode_path(&route.path_info), &b"/"[..]].concat();
    let location = canonical::absolute(request, names, path);
    page::redirect(301, &location)
}

/// Whether a `Require` has decided about the request. With `Satisfy Any`, no `Require` decides
/// anything if `Allow` and `Deny` admit every client.
fn is_guarded(settings: &Settings, method: &[u8]) -> bool {
    let rules = &settings.rules;
    let decides = rules.require.as_ref().is_some_and(|it| it.decides(method));
    let allowed = rules.allow_deny.as_ref().and_then(AllowDeny::constant);
    decides && !(rules.satisfies_any(method) && allowed == Some(true))
}

/// Whether a browser that names this host means this server. A page of another site can make its
/// own name stand for the address of this server, and the browser then sees one site.
fn is_own_name(names: &HostNames, asked: &[u8]) -> bool {
    let asked = String::from_utf8_lossy(asked).to_ascii_lowercase();
    let bare = asked.trim_start_matches('[').trim_end_matches(']');
    asked.is_empty() || asked == "localhost" || bare.parse::<IpAddr>().is_ok() || names.has(&asked)
}

#[cfg(test)]
mod tests {
    use super::is_own_name;
    use mehari_config::HostNames;

    #[test]
    fn only_names_of_the_host_and_addresses_mean_this_server() {
        let mut names = HostNames::default();
        names.server_name.replace("www.example.org".to_owned());
        names.aliases.push("*.example.net".to_owned());
        for (name, expected) in [
            ("www.example.org", true),
            ("WWW.Example.ORG", true),
            ("a.example.net", true),
            ("localhost", true),
            ("127.0.0.1", true),
            ("[::1]", true),
            ("", true),
            ("evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example", false),
            ("[::1].evil.example", false),
        ] {
            assert_eq!(is_own_name(&names, name.as_bytes()), expected, "{name}");
        }
    }
}
