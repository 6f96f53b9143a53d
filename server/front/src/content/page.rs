//! Makes error pages. Clients that name text or JSON as preferred get plain text, and other clients
//! get HTML like other servers' pages. A page contains nothing that the client sent.

use crate::content::{Answer, Content};
use mehari_http::{accept, status};
use mehari_text::html;

/// The colours of the demonstration's pages.
const STYLE: &str = "\
    html{color-scheme:light dark;background:#fbf6ee;color:#2b2118;\
    font:17px/1.6 ui-sans-serif,system-ui,\"Segoe UI\",Roboto,sans-serif}\
    body{max-width:36rem;margin:18vh auto;padding:0 1.25rem}\
    h1{color:#a8481f;line-height:1.2;overflow-wrap:anywhere;\
    font-size:clamp(2rem,1.4rem + 3vw,3.2rem);margin:.2em 0 .35em}\
    @media(prefers-color-scheme:dark){html{background:#12151f;color:#f0e9df}h1{color:#f0a35e}}";

/// Tells the client of a busy server to wait a second before the next try.
const SOON: &str = "Retry-After: 1\r\n";

/// Returns the page of `status`. `accept`: the request's Accept field, if the request was readable.
pub fn answer(status: u16, accept: Option<&[u8]>) -> Answer {
    let mut answer = if accept.is_some_and(prefers_text) {
        written(status, "text/plain; charset=utf-8", text_page(status))
    } else {
        written(status, "text/html; charset=utf-8", html_page(status))
    };
    if status == 503 {
        answer.lines.extend_from_slice(SOON.as_bytes());
    }
    answer
}

/// Returns the header line that tells the client how many seconds to wait before the next try.
pub fn retry_after_line(seconds: u64) -> String {
    format!("Retry-After: {seconds}\r\n")
}

/// Tells the client how many seconds to wait before the next try.
pub fn set_retry_after(answer: &mut Answer, seconds: u64) {
    remove_retry_after(answer);
    answer
        .lines
        .extend_from_slice(retry_after_line(seconds).as_bytes());
}

/// Removes the time to wait from the server's own page of a status.
pub fn remove_retry_after(answer: &mut Answer) {
    if answer.lines.ends_with(SOON.as_bytes()) {
        answer.lines.truncate(answer.lines.len() - SOON.len());
    }
}

/// Returns the page of `status` with what the error log says of the request, for a developer.
pub fn explained(status: u16, accept: Option<&[u8]>, said: &str) -> Answer {
    const HEAD: &str = "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
        Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\n";
    let named = accept.unwrap_or_default();
    let is_html = named
        .windows(9)
        .any(|part| part.eq_ignore_ascii_case(b"text/html"));
    let mut answer = if is_html {
        written(
            status,
            "text/html; charset=utf-8",
            explained_html(status, said),
        )
    } else {
        written(status, "text/plain; charset=utf-8", said.to_owned())
    };
    answer.lines.extend_from_slice(HEAD.as_bytes());
    answer
}

fn explained_html(status: u16, said: &str) -> String {
    let title = status::phrase(status);
    let text = html::escape(said);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>{status} {title}</title>\n<style>{STYLE}\
         body{{max-width:62rem}}pre{{white-space:pre-wrap;overflow-wrap:anywhere}}</style></head>\n\
         <body><main><h1>{title}</h1><pre>{text}</pre>\
         <p>The error log says this. Only browsers on this machine see it, and only under \
         <code>--watch</code>.</p></main></body></html>\n"
    )
}

/// Returns a redirect. Its page has a link for clients that do not follow redirects.
pub fn redirect(status: u16, location: &[u8]) -> Answer {
    let status = status::of_page(status);
    let title = status::phrase(status);
    let mut target = Vec::with_capacity(location.len());
    html::push(location, "&#39;", &mut target);
    let target = String::from_utf8_lossy(&target);
    let text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <title>{status} {title}</title></head>\n\
         <body><h1>{title}</h1><p>The document has moved <a href=\"{target}\">here</a>.</p>\
         </body></html>\n"
    );
    let mut answer = written(status, "text/html; charset=utf-8", text);
    for part in [b"Location: ", location, b"\r\n"] {
        answer.lines.extend_from_slice(part);
    }
    answer
}

/// Returns a page with a text of the configuration (`ErrorDocument 404 "text"`). As in Apache, the
/// text is HTML.
pub fn configured(status: u16, text: &str) -> Answer {
    written(status, "text/html; charset=iso-8859-1", text.to_string())
}

fn written(status: u16, media_type: &str, text: String) -> Answer {
    let mut lines = Vec::new();
    if !status::has_no_body(status) {
        lines.extend_from_slice(format!("Content-Type: {media_type}\r\n").as_bytes());
    }
    lines.extend_from_slice(b"X-Content-Type-Options: nosniff\r\n");
    Answer {
        status,
        lines,
        content: Content::Bytes(text.into_bytes()),
    }
}

/// Returns whether the client names text or JSON with a higher weight than HTML. `*/*`, which
/// scripts and old tools send, is ignored.
fn prefers_text(accept: &[u8]) -> bool {
    let weight = |is_it: &dyn Fn(&[u8]) -> bool| {
        let named = accept::items(accept).filter(|(name, _)| is_it(name));
        named.map(|(_, weight)| weight).max().unwrap_or(0)
    };
    let is_html = |name: &[u8]| {
        let mut known = [&b"text/html"[..], b"text/*", b"application/xhtml+xml"].into_iter();
        known.any(|known| name.eq_ignore_ascii_case(known))
    };
    let is_text = |name: &[u8]| {
        let name = name.to_ascii_lowercase();
        name == b"text/plain" || name.ends_with(b"/json") || name.ends_with(b"+json")
    };
    weight(&is_text) > weight(&is_html)
}

fn text_page(status: u16) -> String {
    let title = status::phrase(status);
    match status::explanation(status) {
        "" => format!("{status} {title}\n"),
        explanation => format!("{status} {title}\n{explanation}\n"),
    }
}

fn html_page(status: u16) -> String {
    let title = status::phrase(status);
    // The heading is that of other servers' pages, because tests of programs search for it. An
    // unknown code is its own heading.
    let heading = match title {
        "" => status.to_string(),
        title => title.to_owned(),
    };
    let explanation = status::explanation(status);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>{status} {title}</title>\n<style>{STYLE}</style></head>\n\
         <body><main><h1>{heading}</h1><p>{explanation}</p></main></body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::{answer, explained, html_page};
    use crate::content::Content;

    #[test]
    fn what_the_error_log_says_is_escaped_and_is_text_for_a_client_without_html() {
        let body = |accept: &[u8]| {
            let page = explained(500, Some(accept), "<b>no \"row\" & none\n");
            match page.content {
                Content::Bytes(bytes) => String::from_utf8(bytes).expect("UTF-8"),
                _ => panic!("no bytes"),
            }
        };
        let html = body(b"text/html,*/*");
        let escaped = "<pre>&lt;b&gt;no &quot;row&quot; &amp; none\n</pre>";
        assert!(html.contains(escaped), "{html}");
        assert_eq!(body(b"*/*"), "<b>no \"row\" & none\n");
    }

    #[test]
    fn a_page_is_text_for_clients_that_prefer_text_or_json() {
        for (accept, is_html) in [
            (None, true),
            (Some("*/*"), true),
            (Some("text/html,application/xhtml+xml,*/*;q=0.8"), true),
            (Some("image/avif,*/*"), true),
            (Some("text/*"), true),
            (Some("text/html, text/plain"), true),
            (Some("text/plain"), false),
            (Some("application/json, text/plain, */*"), false),
            (Some("application/problem+json"), false),
            (Some("Text/HTML;q=0.5, Application/JSON"), false),
            (Some("text/plain;q=0.5, text/html"), true),
            (Some("text/plain;q=0"), true),
        ] {
            let page = answer(404, accept.map(str::as_bytes));
            let lines = String::from_utf8(page.lines).expect("ASCII");
            assert_eq!(lines.contains("text/html"), is_html, "{accept:?}");
        }
    }

    #[test]
    fn a_page_has_the_status_in_its_title_and_the_phrase_as_its_heading() {
        let page = html_page(404);
        assert!(page.contains("<title>404 Not Found</title>"), "{page}");
        assert!(page.contains("<h1>Not Found</h1>"), "{page}");
        assert!(html_page(499).contains("<h1>499</h1>"));
    }
}
