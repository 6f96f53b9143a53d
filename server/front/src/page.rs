//! The pages of problems: HTML, or plain text for clients that do not ask for HTML. They hold nothing
//! the client sent.

use crate::answer::{Answer, Content};
use crate::status;

/// How long a client should wait before it tries a busy server again, seconds.
const RETRY_AFTER: &str = "Retry-After: 1\r\n";

/// The answer for `status`; `accept` is the request's field, if the request was readable.
pub fn answer(status: u16, accept: Option<&[u8]>) -> Answer {
    let html = accept.is_some_and(|accept| contains(accept, b"text/html"));
    let mut answer = match html {
        true => written(status, "text/html; charset=utf-8", html_page(status)),
        false => written(status, "text/plain; charset=utf-8", text_page(status)),
    };
    if status == 503 {
        answer.lines.extend_from_slice(RETRY_AFTER.as_bytes());
    }
    answer
}

/// A text of the configuration (`ErrorDocument 404 "text"`).
pub fn configured(status: u16, text: &str) -> Answer {
    let looks_html = text.trim_start().starts_with('<');
    let media_type = match looks_html {
        true => "text/html; charset=utf-8",
        false => "text/plain; charset=utf-8",
    };
    written(status, media_type, text.to_string())
}

fn written(status: u16, media_type: &str, text: String) -> Answer {
    Answer {
        status,
        lines: format!("Content-Type: {media_type}\r\nX-Content-Type-Options: nosniff\r\n").into(),
        content: Content::Bytes(text.into_bytes()),
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
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
    // As other servers' pages have it, and as tests of programs look for it; a code nobody knows is its own heading.
    let heading = match title {
        "" => status.to_string(),
        title => title.to_owned(),
    };
    let explanation = status::explanation(status);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>{status} {title}</title>\n<style>body{{font:1rem/1.5 system-ui,sans-serif;\
         max-width:32rem;margin:20vh auto;padding:0 1rem;color-scheme:light dark}}</style></head>\n\
         <body><h1>{heading}</h1><p>{explanation}</p></body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::html_page;

    #[test]
    fn a_page_has_the_status_in_its_title_and_the_phrase_as_its_heading() {
        let page = html_page(404);
        assert!(page.contains("<title>404 Not Found</title>"), "{page}");
        assert!(page.contains("<h1>Not Found</h1>"), "{page}");
        assert!(html_page(499).contains("<h1>499</h1>"));
    }
}
