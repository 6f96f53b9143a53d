//! Makes the server's own responses for a resource with variants.

use super::offer::Offer;
use super::target;
use crate::content::{Answer, Content};
use crate::handlers::ssi::{self, Subrequests};
use crate::handlers::HandlerOutcome;
use crate::pipeline::status_page::{file_or_document, refusal};
use crate::request::Request;
use crate::routing::variants::Variants;
use crate::routing::Route;
use crate::shared::Shared;
use mehari_config::LogLevel;
use mehari_http::negotiation::{list, Variant};
use mehari_http::status;
use std::rc::Rc;

/// Returns the server's own response: the list of variants, or the content of a type map's entry,
/// whose included paths are requested through `subrequests`.
pub fn respond(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    variants: &Variants,
    subrequests: Box<dyn Subrequests>,
) -> HandlerOutcome {
    let settings = &route.settings;
    let Offer { all, choice } = Offer::of(shared, request, request.rule_state, route, variants);
    let Some(variant) = choice.variant.map(|at| &all[at]) else {
        log_refusal(shared, request, route);
        if request.error().is_some() || all.is_empty() {
            let status = if all.is_empty() { 404 } else { choice.status };
            return refusal(shared, request, Some(settings), status);
        }
        let page = list_page(choice.status, &all);
        return file_or_document(shared, request, settings, page);
    };
    let Some(body) = &variant.body else {
        return HandlerOutcome::Elsewhere(target(request, route, variant), 200);
    };
    if !matches!(request.method, b"GET" | b"HEAD" | b"POST") {
        return refusal(shared, request, Some(settings), 405);
    }
    let mut text = ssi::Text {
        bytes: body.clone(),
        media_type: variant.media_type.clone(),
        lines: Vec::new(),
    };
    if !variant.charset.is_empty() {
        text.media_type += &format!("; charset={}", variant.charset);
    }
    if !variant.languages.is_empty() {
        let line = format!("Content-Language: {}\r\n", variant.languages.join(","));
        text.lines.extend_from_slice(line.as_bytes());
    }
    if let Some(coding) = &variant.encoding {
        let line = format!("Content-Encoding: {coding}\r\n");
        text.lines.extend_from_slice(line.as_bytes());
    }
    ssi::begin_text(shared, request, route, text, subrequests)
}

fn log_refusal(shared: &Shared, request: &Request<'_>, route: &Route) {
    let text = format!(
        "{}: no acceptable variant: {}",
        request.target.escape_ascii(),
        route.file.escape_ascii()
    );
    shared
        .journal
        .error(route.host, LogLevel::Error, request.origin(), &text);
}

/// Returns the page of a 300 or 406, as Apache sends it.
fn list_page(code: u16, variants: &[Variant]) -> Answer {
    let why = match code {
        406 => {
            "<p>An appropriate representation of the requested resource could not be found on \
             this server.</p>\n"
        }
        _ => "",
    };
    choices_page(code, format!("{why}{}", list(variants)).as_bytes())
}

/// Returns a page in the form of Apache's, with the list from which the client may choose.
pub fn choices_page(code: u16, list: &[u8]) -> Answer {
    let phrase = status::phrase(code);
    let head = format!(
        "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \
         \"http://www.w3.org/TR/html4/strict.dtd\">\n<html><head>\n\
         <title>{code} {phrase}</title>\n</head><body>\n<h1>{phrase}</h1>\n"
    );
    let page = [head.as_bytes(), list, b"</body></html>\n"].concat();
    Answer {
        status: code,
        lines: b"Content-Type: text/html; charset=iso-8859-1\r\n".to_vec(),
        content: Content::Bytes(page),
    }
}
