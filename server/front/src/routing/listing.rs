//! Makes the listing of a folder without an index, where `Options Indexes` is set.

use crate::content::{Answer, Content};
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use mehari_text::{html, percent};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::SystemTime;

/// The most entries of a listing, because the event loop waits while a folder is read.
const MOST: usize = 10_000;

/// Returns the page that lists a folder. `folder` is the file path, and `path` is the decoded URL
/// path with a final slash.
pub fn listing(folder: &[u8], path: &[u8]) -> Result<Answer, Problem> {
    const UNREADABLE: Problem = Problem::refused(403, "the folder may not be read");
    let folder = std::path::Path::new(OsStr::from_bytes(folder));
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder)
        .map_err(|_| UNREADABLE)?
        .flatten()
        .take(MOST)
    {
        let name = entry.file_name();
        let found = std::fs::metadata(entry.path()).ok();
        let Some(found) = found.filter(|found| found.is_file() || found.is_dir()) else {
            continue;
        };
        let mut name = name.as_bytes().to_vec();
        let shown = Path::decode(&[b"/", &percent::encode_path(&name)[..]].concat());
        if !shown.is_ok_and(|path| !path.is_hidden()) {
            continue;
        }
        if found.is_dir() {
            name.push(b'/');
        }
        entries.push((!found.is_dir(), name, found.len(), found.modified().ok()));
    }
    entries.sort();
    let title = html::escape(&String::from_utf8_lossy(path));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Index of {title}</title></head>\n\
         <body><main><h1>Index of {title}</h1>\n<table>\n"
    );
    if path != b"/" {
        page.push_str("<tr><td><a href=\"../\">Parent Directory</a></td><td></td><td></td></tr>\n");
    }
    for (is_file, name, size, modified) in entries {
        let link = html::escape(&String::from_utf8_lossy(&percent::encode_path(&name)));
        let size = if is_file {
            size.to_string()
        } else {
            "-".to_string()
        };
        let modified = modified.map_or(String::new(), date);
        page.push_str(&format!(
            "<tr><td><a href=\"./{link}\">{}</a></td><td>{modified}</td><td>{size}</td></tr>\n",
            html::escape(&String::from_utf8_lossy(&name))
        ));
    }
    page.push_str("</table></main></body></html>\n");
    Ok(Answer {
        content: Content::Bytes(page.into_bytes()),
        ..Answer::new(200, "Content-Type: text/html;charset=UTF-8\r\n")
    })
}

fn date(time: SystemTime) -> String {
    httpdate::fmt_http_date(time)
}
