//! The folder of compressed files (`CompressionCacheRoot`). Its files survive restarts.
//!
//! Only threads call this module, because its functions may block. A file appears with its whole
//! content or not at all. Errors are ignored, because a missing file is only compressed again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The bytes that may be written before the folder's size is checked again.
const SLACK: u64 = 16 << 20;

static WRITTEN: AtomicU64 = AtomicU64::new(u64::MAX / 2);

pub fn open(folder: &Path, name: &str) -> Option<File> {
    File::open(folder.join(name)).ok()
}

/// Stores a file and removes the oldest files beyond `most` bytes.
pub fn put(folder: &Path, name: &str, bytes: &[u8], most: u64) {
    let written = write(folder, name, bytes);
    let since = WRITTEN.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    if written.is_ok() && since + bytes.len() as u64 > SLACK.min(most / 8) {
        WRITTEN.store(0, Ordering::Relaxed);
        shrink(folder, most);
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(".new")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(folder.join(name))
        .map_err(|error| error.error)?;
    Ok(())
}

fn shrink(folder: &Path, most: u64) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let ours = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str()?;
        let (stem, suffix) = name.split_once('.')?;
        let is_ours = stem.len() == 32 && ["br", "zst", "gz"].contains(&suffix);
        let metadata = entry.metadata().ok().filter(|_| is_ours)?;
        Some((metadata.modified().ok()?, metadata.len(), entry.path()))
    });
    let mut ours: Vec<(SystemTime, u64, PathBuf)> = ours.collect();
    ours.sort();
    let mut total: u64 = ours.iter().map(|(_, length, _)| length).sum();
    for (_, length, path) in ours {
        if total <= most {
            break;
        }
        if fs::remove_file(path).is_ok() {
            total -= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_give_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = |number: u8| format!("{number:032}.gz");
        for number in 0..4 {
            write(folder.path(), &name(number), &[number; 100]).expect("written");
            let age = SystemTime::now() - std::time::Duration::from_secs(100 - u64::from(number));
            let file = File::options()
                .write(true)
                .open(folder.path().join(name(number)));
            file.and_then(|file| file.set_modified(age))
                .expect("a time");
        }
        fs::write(folder.path().join("somebody's"), [0; 1000]).expect("written");
        shrink(folder.path(), 250);
        let there: Vec<bool> = (0..4)
            .map(|number| open(folder.path(), &name(number)).is_some())
            .collect();
        assert_eq!(there, [false, false, true, true]);
        assert!(open(folder.path(), "somebody's").is_some());
    }
}
