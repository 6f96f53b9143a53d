//! The reports of exact profiles: pages of nytprofhtml in folders that the server has been told of
//! (`mehari profile --exact`).
//!
//! The pages name subs, files and source of the application, and code that requests may have
//! brought. So a browser gets them without their scripts, and only files of known kinds are read.

use mehari_loopback::{Content, MediaType};
use rustix::fs::{Mode, OFlags};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most bytes of a file.
const LONGEST: u64 = 32 << 20;
/// The first page of a report.
const INDEX: &str = "index.html";
/// The folder of style sheets and pictures in a report.
const PARTS: &str = "js";

/// Marks in a list of reports which of them this process can read.
pub fn mark_readable(list: &mut Value) {
    for report in list["reports"].as_array_mut().into_iter().flatten() {
        let folder = report["folder"].as_str().unwrap_or_default();
        let is_readable = open(Path::new(folder), INDEX).is_ok();
        report["is_readable"] = is_readable.into();
    }
}

/// Returns a file of the report with this number. `path`: `NUMBER/FILE`.
pub fn file(list: &Value, path: &str) -> Option<Content> {
    let (number, name) = path.split_once('/')?;
    let number: u64 = number.parse().ok()?;
    let mut reports = list["reports"].as_array()?.iter();
    let report = reports.find(|report| report["id"] == number)?;
    let media_type = media_type(name)?;
    let mut bytes = Vec::new();
    let file = open(Path::new(report["folder"].as_str()?), name).ok()?;
    let length = file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    (length > 0).then(|| Content::foreign(media_type, bytes))
}

/// Returns the media type of a file that may be shown. Scripts are not among them.
fn media_type(name: &str) -> Option<MediaType> {
    let name = name
        .strip_prefix(PARTS)
        .map_or(name, |rest| rest.trim_start_matches('/'));
    let is_plain = !name.starts_with('.') && !name.contains(['/', '\0']);
    let (_, kind) = name.rsplit_once('.').filter(|_| is_plain)?;
    match kind {
        "html" => Some(MediaType::Page),
        "css" => Some(MediaType::Style),
        "svg" => Some(MediaType::Picture),
        "png" => Some(MediaType::Image),
        _ => None,
    }
}

/// Opens a regular file of a folder, and follows no link in the folder.
fn open(folder: &Path, name: &str) -> io::Result<File> {
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let folders = flags | OFlags::DIRECTORY | OFlags::PATH;
    let mut inside = rustix::fs::open(folder, folders, Mode::empty())?;
    let mut name = name;
    if let Some((part, rest)) = name.split_once('/') {
        inside = rustix::fs::openat(&inside, part, folders, Mode::empty())?;
        name = rest;
    }
    // A named pipe would never be open.
    let file = flags | OFlags::RDONLY | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::openat(&inside, name, file, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_files_of_known_kinds_in_the_folder_itself_are_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("js/deep")).expect("a folder");
        for name in [
            "index.html",
            "(eval 1)[a]-2-line.html",
            "js/a.css",
            "js/a.js",
            "nytprof.out",
            ".hidden.html",
            "js/deep/a.css",
        ] {
            std::fs::write(at(name), "x").expect("written");
        }
        std::os::unix::fs::symlink("/etc/passwd", at("link.html")).expect("a link");
        std::os::unix::fs::symlink("/etc", at("etc")).expect("a link");
        let mut list = json!({ "reports": [
            { "id": 7, "folder": folder.path() }, { "id": 8, "folder": "/nonexistent" }] });
        let found = |path: &str| file(&list, path).is_some();
        for path in ["7/index.html", "7/(eval 1)[a]-2-line.html", "7/js/a.css"] {
            assert!(found(path), "{path}");
        }
        for path in [
            "7/js/a.js",
            "7/nytprof.out",
            "7/.hidden.html",
            "7/js/deep/a.css",
            "7/link.html",
            "7/etc/passwd",
            "7/../index.html",
            "7//etc/passwd",
            "7/js/../index.html",
            "7/missing.html",
            "7/",
            "7",
            "8/index.html",
            "9/index.html",
            "x/index.html",
        ] {
            assert!(!found(path), "{path}");
        }
        mark_readable(&mut list);
        let marks = [0, 1].map(|at| list["reports"][at]["is_readable"] == true);
        assert_eq!(marks, [true, false]);
    }
}
