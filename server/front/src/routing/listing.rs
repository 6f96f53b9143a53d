//! Reads the entries of a folder, and makes the page that lists them.
//!
//! `pipeline::listing` decides which entries a client may see.

use crate::content::{Answer, Content};
use crate::request::rule_state::IndexedFolder;
use crate::routing::htaccess::HtaccessTable;
use mehari_config::{Host, Htaccess, RequestPlace, Site};
use mehari_http::path::Path;
use mehari_text::{html, percent};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::SystemTime;

/// The most entries of a listing, because every entry costs time and memory.
const MOST: usize = 10_000;

/// A file or folder in a listing. Folders come first, and then names count.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedEntry {
    is_file: bool,
    is_link: bool,
    /// The name. That of a folder has a final slash.
    pub name: Vec<u8>,
    size: u64,
    modified: Option<SystemTime>,
}

/// Tells which files of a folder have the folder's own settings. It costs much less than a search
/// for the route of each file, so a large folder is listed quickly.
pub struct SettingsOfFiles<'a> {
    folder: &'a IndexedFolder,
    htaccess: Vec<Arc<Htaccess>>,
}

impl<'a> SettingsOfFiles<'a> {
    /// `None`: the rules of the folder may treat its files differently.
    pub fn of(
        folder: &'a IndexedFolder,
        (site, host): (&Site, &Host),
        htaccess: &HtaccessTable,
    ) -> Option<SettingsOfFiles<'a>> {
        let settings = &folder.settings;
        if settings.is_checked_first() || settings.are_checked_behind(settings) {
            return None;
        }
        let file = std::path::Path::new(OsStr::from_bytes(&folder.file));
        Some(SettingsOfFiles {
            folder,
            htaccess: htaccess.chain(site, host, file).ok()?,
        })
    }

    /// Whether an entry is a file with the folder's settings. The client may see the folder, so it
    /// may see such a file.
    pub fn hold_for(&self, host: &Host, entry: &ListedEntry) -> bool {
        if !entry.is_file || entry.is_link {
            return false;
        }
        let as_path = |bytes| std::path::Path::new(OsStr::from_bytes(bytes));
        let (folder, name) = (&self.folder.file[..], &entry.name[..]);
        let file = [folder, name].concat();
        let path = [&self.folder.path[..], name].concat();
        // As in Apache, the walk to the file ends in the folder, which has been walked already.
        let place = RequestPlace {
            url_path: &path,
            file: Some(as_path(&file)),
            walked: Some(as_path(&file)),
            existing: Some(as_path(folder)),
            folder: Some(as_path(folder)),
        };
        let own = host.settings_with(place, &self.htaccess);
        !own.are_checked_behind(&self.folder.settings)
    }
}

/// Returns the entries of a folder that are not hidden, sorted. `None`: the folder cannot be read.
/// The function waits for the disk.
pub fn entries(folder: &[u8]) -> Option<Vec<ListedEntry>> {
    let folder = std::fs::read_dir(OsStr::from_bytes(folder)).ok()?;
    let mut entries: Vec<ListedEntry> = folder.flatten().take(MOST).filter_map(entry).collect();
    entries.sort();
    Some(entries)
}

fn entry(found: std::fs::DirEntry) -> Option<ListedEntry> {
    let name = found.file_name();
    let path = [b"/", &percent::encode_path(name.as_bytes())[..]].concat();
    if Path::decode(&path).is_ok_and(|path| path.is_hidden()) {
        return None;
    }
    let stat = std::fs::metadata(found.path()).ok()?;
    let end: &[u8] = match (stat.is_file(), stat.is_dir()) {
        (true, _) => b"",
        (_, true) => b"/",
        _ => return None,
    };
    Some(ListedEntry {
        is_file: stat.is_file(),
        is_link: found.file_type().is_ok_and(|kind| kind.is_symlink()),
        name: [name.as_bytes(), end].concat(),
        size: stat.len(),
        modified: stat.modified().ok(),
    })
}

/// Returns the page that lists these entries. `path` is the decoded URL path of the folder, with a
/// final slash.
pub fn page(path: &[u8], entries: &[ListedEntry]) -> Answer {
    let title = html::escape(&String::from_utf8_lossy(path));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Index of {title}</title></head>\n\
         <body><main><h1>Index of {title}</h1>\n<table>\n"
    );
    if path != b"/" {
        page.push_str("<tr><td><a href=\"../\">Parent Directory</a></td><td></td><td></td></tr>\n");
    }
    for entry in entries {
        let link = html::escape(&String::from_utf8_lossy(&percent::encode_path(&entry.name)));
        let size = if entry.is_file {
            entry.size.to_string()
        } else {
            "-".to_string()
        };
        let modified = entry
            .modified
            .map_or(String::new(), httpdate::fmt_http_date);
        page.push_str(&format!(
            "<tr><td><a href=\"./{link}\">{}</a></td><td>{modified}</td><td>{size}</td></tr>\n",
            html::escape(&String::from_utf8_lossy(&entry.name))
        ));
    }
    page.push_str("</table></main></body></html>\n");
    Answer {
        content: Content::Bytes(page.into_bytes()),
        ..Answer::new(200, "Content-Type: text/html;charset=UTF-8\r\n")
    }
}
