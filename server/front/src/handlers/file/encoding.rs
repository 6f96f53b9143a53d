//! Chooses among neighbours with content codings (`style.css.br` beside `style.css`).

use crate::content::FileTarget;
use crate::request::Request;
pub use mehari_config::Coding;
use mehari_http::accept::weight;

/// The neighbour that the client prefers. `None`: the file itself.
pub fn choose(request: &Request<'_>, target: &FileTarget) -> Option<Coding> {
    if !target.has_neighbours() {
        return None;
    }
    let accepted = request.field("accept-encoding")?;
    let mut best = None;
    for coding in Coding::ALL {
        let weight = weight(accepted, coding.name());
        let better = best.map_or(weight > 0, |(_, known)| weight > known);
        if better && target.has_neighbour(coding) {
            best = Some((coding, weight));
        }
    }
    best.map(|(coding, _)| coding)
}
