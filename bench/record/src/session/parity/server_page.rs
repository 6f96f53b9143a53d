//! Recognises pages that a web server makes itself: the pages of a status, and lists of folders.
//! `--ignore-server-pages` masks such pages, because each server's pages look different.

use crate::session::replay::answer::Answer;

/// The longest page of a status. An application's own error page is usually longer.
const LONGEST: usize = 8 << 10;
/// Fields that differ because the pages differ.
pub const FIELDS: [&str; 4] = [
    "content-type",
    "content-language",
    "vary",
    "x-content-type-options",
];

/// Whether both answers are such pages of the same status.
pub fn are_both(old: &Answer, new: &Answer) -> bool {
    old.status == new.status && is_page(old) && is_page(new)
}

/// Whether the title or the first line of the page names the status, or the page lists a folder.
fn is_page(answer: &Answer) -> bool {
    let text = String::from_utf8_lossy(&answer.body);
    let status = format!("{} ", answer.status);
    if answer.status >= 300 {
        let is_named = title(&text).unwrap_or(&text).starts_with(&status);
        return answer.body.is_empty() || is_named && text.len() <= LONGEST;
    }
    title(&text).is_some_and(|title| title.starts_with("Index of /"))
}

fn title(text: &str) -> Option<&str> {
    let start = text.find("<title>")? + "<title>".len();
    let end = text[start..].find("</title>")?;
    Some(text[start..start + end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_servers_are_told_from_pages_of_applications() {
        let of = |status: u16, body: &str| {
            let body = body.as_bytes().to_vec();
            let headers = Default::default();
            is_page(&Answer {
                status,
                headers,
                body,
            })
        };
        let apache = "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n\
                      <title>404 Not Found</title>\n</head>";
        assert!(of(404, apache));
        assert!(of(404, "404 Not Found\n"));
        assert!(of(302, ""));
        assert!(of(200, "<title>Index of /pub</title>"));
        assert!(!of(404, "<title>We miss this page</title>"));
        assert!(!of(500, apache));
        assert!(!of(200, "<title>200 recipes</title>"));
        assert!(!of(404, &format!("{apache}{}", "x".repeat(LONGEST))));
    }
}
