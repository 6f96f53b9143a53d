//! Keeps pages as files of a folder (`CacheRoot`). The pages survive a restart and need no memory.
//!
//! Every function here may wait for a disk, so threads call them. Each file appears at once with
//! its whole content.

use crate::file;
use crate::page::Page;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

const SUFFIX: &str = ".page";
/// The number of bytes to read of a file if only its key is needed.
const BEGINNING: u64 = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder(PathBuf);

/// A file of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    pub name: String,
    pub size: u64,
}

impl Folder {
    pub fn new(path: &Path) -> Folder {
        Folder(path.to_owned())
    }

    /// Returns all files of the folder, the oldest first, with their keys.
    pub fn scan(&self) -> Vec<(Vec<u8>, FolderEntry)> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let pages = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            if !name.ends_with(SUFFIX) {
                return None;
            }
            let metadata = entry.metadata().ok()?;
            let mut beginning = Vec::new();
            let file = File::open(entry.path()).ok()?;
            file.take(BEGINNING).read_to_end(&mut beginning).ok()?;
            let key = file::key(&beginning)?.to_vec();
            let size = metadata.len();
            Some((metadata.modified().ok()?, key, FolderEntry { name, size }))
        });
        let mut pages: Vec<(SystemTime, Vec<u8>, FolderEntry)> = pages.collect();
        pages.sort_by_key(|(time, _, _)| *time);
        pages
            .into_iter()
            .map(|(_, key, filed)| (key, filed))
            .collect()
    }

    /// Writes a page in place of the earlier page for the same requests.
    ///
    /// # Errors
    ///
    /// The error of writing the file or of renaming it.
    pub fn write(&self, key: &[u8], page: &Page) -> io::Result<FolderEntry> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(&self.0)?;
        let bytes = file::encode(key, page);
        let name = name(key, page);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.0.join(format!(".{}.{number}", std::process::id()));
        let written = File::create_new(&unfinished)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| fs::rename(&unfinished, self.0.join(&name)));
        if let Err(error) = written {
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        let size = bytes.len() as u64;
        Ok(FolderEntry { name, size })
    }

    /// Returns the page of a file, if the file has this key.
    pub fn read(&self, name: &str, key: &[u8], number: u64) -> Option<Page> {
        let bytes = fs::read(self.0.join(name)).ok()?;
        let (known, page) = file::decode(&bytes, number)?;
        (known == key).then_some(page)
    }

    pub fn remove(&self, names: &[String]) {
        for name in names {
            let _ = fs::remove_file(self.0.join(name));
        }
    }
}

fn name(key: &[u8], page: &Page) -> String {
    let mut chosen = key.to_vec();
    for (name, value) in &page.terms.vary {
        chosen.extend_from_slice(name);
        chosen.push(0);
        chosen.extend_from_slice(value);
        chosen.push(0);
    }
    format!(
        "{:016x}{:016x}{SUFFIX}",
        file::hash(key),
        file::hash(&chosen)
    )
}
