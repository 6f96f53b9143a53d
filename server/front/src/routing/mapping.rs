//! Maps a URL path to a file.

use crate::content::stat::stat;
use mehari_config::UrlMapping;

/// The mapped file, which need not exist.
#[derive(Default)]
pub struct Mapping {
    pub file: Vec<u8>,
    /// Whether a ScriptAlias mapped the path.
    pub script: bool,
    /// Whether the mapping made `..` or a name that begins with a dot from the client's text.
    pub uncovers: bool,
    /// Whether rules have chosen the file, so that it need not follow from the path.
    pub by_rule: bool,
}

impl Mapping {
    pub fn to(file: Vec<u8>) -> Mapping {
        Mapping {
            file,
            ..Mapping::default()
        }
    }
}

/// Maps a URL path to a file.
pub fn map(mapping: &UrlMapping, path: &[u8]) -> Mapping {
    if let Some(file) = of_user(mapping, path) {
        return Mapping::to(file);
    }
    let mapped = mapping.map(path);
    Mapping {
        file: mapped.file.into_os_string().into_encoded_bytes(),
        script: mapped.script,
        uncovers: mapped.uncovers,
        by_rule: false,
    }
}

/// Returns the file of `/~NAME/...`, if `UserDir` gives the user a folder.
fn of_user(mapping: &UrlMapping, path: &[u8]) -> Option<Vec<u8>> {
    let dirs = mapping.user_dirs.as_ref().filter(|dirs| dirs.are_any())?;
    let (name, rest) = dirs.asked(path)?;
    let places = dirs.places.iter();
    let folders = places.filter_map(|place| place.folder(name, || super::homes::home_of(name)));
    let mut last = None;
    for folder in folders {
        let is_there = stat(folder.as_bytes()).is_some();
        last = Some(folder);
        if is_there {
            break;
        }
    }
    last.map(|folder| [folder.as_bytes(), rest].concat())
}
