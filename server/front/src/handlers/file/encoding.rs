//! Chooses among a file's neighbours with content codings (`style.css.br` beside `style.css`), and
//! names a file's coding with the name that the client uses.

use crate::content::resource::Resource;
use crate::content::{Answer, FileTarget};
use crate::request::rule_state::RuleState;
use crate::request::Request;
pub use mehari_config::Coding;
use mehari_http::accept::{items, weight};

/// Returns the coding of the neighbour that the client prefers. `None`: the client gets the file
/// itself.
pub fn choose(request: &Request<'_>, target: &FileTarget) -> Option<Coding> {
    let is_forbidden = |state: &RuleState| state.variable(b"no-gzip").is_some();
    if !target.has_neighbours() || request.rule_state.is_some_and(is_forbidden) {
        return None;
    }
    let accepted = request.list("accept-encoding")?;
    let mut best = None;
    for coding in Coding::ALL {
        let weight = weight(&accepted, coding.name());
        let better = best.map_or(weight > 0, |(_, known)| weight > known);
        if better && target.has_neighbour(coding) {
            best = Some((coding, weight));
        }
    }
    best.map(|(coding, _)| coding)
}

/// Returns the client's name for a coding if it differs from `coding`: `gzip` for `x-gzip`, or
/// `x-gzip` for `gzip`.
pub fn token(request: &Request<'_>, coding: &str) -> Option<String> {
    let bare = coding.strip_prefix("x-").unwrap_or(coding);
    let known = request.list("accept-encoding")?;
    let names = |wanted: &str| {
        let mut names = items(&known).map(|(name, _)| name);
        names.any(|name| name.eq_ignore_ascii_case(wanted.as_bytes()))
    };
    let token = [bare.to_string(), format!("x-{bare}")];
    let token = token.into_iter().find(|token| names(token))?;
    (token != coding).then_some(token)
}

/// Returns the answer with the client's name for the file's own coding.
pub fn with_token(request: &Request<'_>, resource: &Resource, answer: Answer) -> Answer {
    let Some(coding) = resource.own_coding() else {
        return answer;
    };
    let Some(token) = token(request, coding) else {
        return answer;
    };
    let lines = String::from_utf8_lossy(&answer.lines().concat()).replace(
        &format!("Content-Encoding: {coding}\r\n"),
        &format!("Content-Encoding: {token}\r\n"),
    );
    let status = answer.status;
    answer.with_head(status, lines.into_bytes())
}
