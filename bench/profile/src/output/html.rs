//! One HTML file with the flame graph, the icicle, a search, and the tables of the report.
//!
//! The file loads nothing. Names come from the process, so they stand only in a JSON block and are
//! shown as text; the policy in the file allows its own script and style by their digests.

use super::text::text;
use crate::profile::Profile;
use crate::tree::CallNode;
use base64::prelude::{Engine, BASE64_STANDARD};
use serde_json::{json, Value};
use sha2::{Digest, Sha256};

const SCRIPT: &str = include_str!("flame.js");
const STYLE: &str = include_str!("flame.css");
const ROWS: usize = 50;

/// Writes the page.
pub fn html(profile: &Profile) -> String {
    let root = CallNode::of(profile);
    let data = json!({
        "cpuWeight": profile.cpu_weight(),
        "wallWeight": profile.wall_weight(),
        "root": node(&root),
    });
    page("Profile", &data, &text(profile, ROWS))
}

/// Writes a page with this title, the graph of the data, and the tables.
pub fn page(title: &str, data: &Value, tables: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; \
         form-action 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n\
         <div id=\"controls\"></div>\n<p id=\"legend\"></p>\n<div id=\"graph\" role=\"group\" aria-label=\"Calls\"></div>\n\
         <p id=\"detail\" role=\"status\"></p>\n<pre tabindex=\"0\">{}</pre>\n</main>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n<script>{SCRIPT}</script>\n\
         </body>\n</html>\n",
        digest(SCRIPT),
        digest(STYLE),
        escaped(tables),
        data.to_string().replace('<', "\\u003c"),
    )
}

fn digest(text: &str) -> String {
    BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn node(node: &CallNode) -> Value {
    let mut lines: Vec<_> = node.lines.iter().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.1));
    let lines = lines
        .iter()
        .take(5)
        .map(|((file, line), count)| json!([format!("{file}:{line}"), count]));
    json!({
        "n": node.name,
        "k": node.kind.word(),
        "c": node.cpu,
        "w": node.wall,
        "l": lines.collect::<Vec<Value>>(),
        "s": node.callees.iter().map(self::node).collect::<Vec<Value>>(),
    })
}
