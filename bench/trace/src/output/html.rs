//! One HTML file with the waterfalls of requests. The file loads nothing and has no script. Names
//! come from requests and scripts, so they are escaped, and the policy in the file allows only the
//! file's own style.

use super::text::shown;
use super::{milliseconds, told, walk};
use crate::anatomy::{Anatomy, TracedPart};
use base64::prelude::{Engine, BASE64_STANDARD};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

const STYLE: &str = include_str!("trace.css");

/// Writes the page.
pub fn html(requests: &[Anatomy]) -> String {
    let digest = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; \
         form-action 'none'; style-src 'sha256-{digest}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Trace</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
    );
    for anatomy in requests {
        put_request(&mut page, anatomy);
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn put_request(page: &mut String, anatomy: &Anatomy) {
    let _ = writeln!(
        page,
        "<h1>{} {}</h1>\n<p>Status {}, request {} from {}: {} ms</p>",
        escaped(&anatomy.method),
        escaped(&anatomy.target),
        anatomy.status,
        anatomy.request_id,
        escaped(&anatomy.client),
        milliseconds(anatomy.took)
    );
    put_table(page, &anatomy.parts, (0, anatomy.took));
    if !anatomy.after.is_empty() {
        let from = anatomy.after.iter().map(|part| part.from).min();
        let until = anatomy.after.iter().map(|part| part.from + part.took).max();
        let (from, until) = (from.unwrap_or_default(), until.unwrap_or_default());
        page.push_str("<p>Beside the front, after the worker's response:</p>\n");
        put_table(page, &anatomy.after, (from, until - from));
    }
    if anatomy.left_out > 0 {
        let _ = writeln!(
            page,
            "<p>{} further parts were not kept.</p>",
            anatomy.left_out
        );
    }
}

fn put_table(page: &mut String, parts: &[TracedPart], window: (u64, u64)) {
    page.push_str(
        "<table>\n<thead><tr><th class=\"n\">from, ms</th><th class=\"n\">took, ms</th>\
         <th class=\"n\">rest, ms</th><th class=\"bar\">time</th><th>part</th></tr></thead>\n<tbody>\n",
    );
    walk(parts, 0, &mut |part, depth| {
        put_row(page, part, depth, window)
    });
    page.push_str("</tbody>\n</table>\n");
}

fn put_row(page: &mut String, part: &TracedPart, depth: usize, window: (u64, u64)) {
    let share = |time: u64| time as f64 * 1000.0 / window.1.max(1) as f64;
    let class = match (&*part.kind, part.process) {
        ("statement", _) => "statement",
        (_, Some(_)) => "perl",
        _ => "front",
    };
    let _ = writeln!(
        page,
        "<tr class=\"{class}\"><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
         <td class=\"bar\"><svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect x=\"{:.2}\" width=\"{:.2}\" height=\"10\"/></svg></td><td class=\"name d{}\">{}</td></tr>",
        milliseconds(part.from),
        milliseconds(part.took),
        milliseconds(part.rest),
        share(part.from.saturating_sub(window.0)),
        share(part.took).max(1.0),
        depth.min(5),
        escaped(&told(part))
    );
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in shown(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_stays_text() {
        let part = TracedPart {
            kind: "statement".to_owned(),
            name: "do: <script>\"'&\u{1b}".to_owned(),
            process: Some(1),
            from: 0,
            took: 1,
            rest: 1,
            count: 1,
            rows: None,
            parts: Vec::new(),
        };
        let anatomy = Anatomy {
            request_id: 1,
            method: "GET".to_owned(),
            target: "/<img src=x>".to_owned(),
            client: "192.0.2.1".to_owned(),
            status: 200,
            took: 1,
            parts: vec![part],
            after: Vec::new(),
            left_out: 0,
        };
        let page = html(&[anatomy]);
        assert!(page.contains("/&lt;img src=x&gt;"), "{page}");
        assert!(
            page.contains("do: &lt;script&gt;&quot;&#39;&amp;\\u{1b}"),
            "{page}"
        );
        assert!(
            !page.contains("<script") && !page.contains("<img"),
            "{page}"
        );
    }
}
