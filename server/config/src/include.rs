//! Finds the files of `Include` and `IncludeOptional`, which name a path, a pattern or a folder.

use std::path::{Path, PathBuf};

use crate::glob;

/// The most files of one configuration. The limit stops a pattern that matches a whole disk, and
/// files that include each other.
pub(crate) const MOST_FILES: usize = 10_000;

/// Returns the files of `pattern` (relative to `root`), sorted. A folder stands for all files below
/// the folder, even if there are none. `None`: no file matches. An error is one line of text.
pub(crate) fn files(root: &Path, pattern: &str) -> Result<Option<Vec<PathBuf>>, String> {
    let whole = root.join(pattern);
    let mut found = vec![PathBuf::from("/")];
    for part in whole.iter().skip(1) {
        found = step(&found, part);
    }
    if whole.is_relative() {
        return Err(format!(
            "`{}` is not below an absolute ServerRoot",
            whole.display()
        ));
    }
    if found.is_empty() {
        return Ok(None);
    }
    let mut files = Vec::new();
    for path in found {
        gather(&path, &mut files, 0)?;
    }
    Ok(Some(files))
}

/// Returns the paths that match `part` in each of the folders.
fn step(folders: &[PathBuf], part: &std::ffi::OsStr) -> Vec<PathBuf> {
    let pattern = part.to_string_lossy();
    if !glob::is_pattern(pattern.as_bytes()) {
        let joined = folders.iter().map(|folder| folder.join(part));
        return joined.filter(|path| path.exists()).collect();
    }
    let mut found = Vec::new();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let hidden = name.starts_with('.') && !pattern.starts_with('.');
            if !hidden && glob::matches(pattern.as_bytes(), name.as_bytes()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

fn gather(path: &Path, files: &mut Vec<PathBuf>, depth: usize) -> Result<(), String> {
    let unreadable = |error: std::io::Error| format!("cannot read `{}`: {error}", path.display());
    if depth > 32 || files.len() > MOST_FILES {
        return Err(format!("`{}` leads to too many files", path.display()));
    }
    if !path.is_dir() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        entries.push(entry.map_err(unreadable)?.path());
    }
    entries.sort();
    entries
        .iter()
        .try_for_each(|entry| gather(entry, files, depth + 1))
}
