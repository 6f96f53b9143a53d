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

/// Maps a URL path to a file. If the path is not UTF-8, only the segments before the first invalid
/// one are mapped, and the rest is appended unchanged.
pub fn map(mapping: &UrlMapping, path: &[u8]) -> Mapping {
    let (text, rest) = match std::str::from_utf8(path) {
        Ok(text) => (text, &[][..]),
        Err(error) => {
            let valid = &path[..error.valid_up_to()];
            let at = memchr::memrchr(b'/', valid).unwrap_or(0);
            let text = std::str::from_utf8(&path[..at]).unwrap_or_default();
            (text, &path[at..])
        }
    };
    if let Some(file) = of_user(mapping, text) {
        return Mapping::to([&file[..], rest].concat());
    }
    let mapped = mapping.map(text);
    let mut file = mapped.file.into_os_string().into_encoded_bytes();
    file.extend_from_slice(rest);
    Mapping {
        file,
        script: mapped.script,
        uncovers: mapped.uncovers,
        by_rule: false,
    }
}

/// Returns the file of `/~NAME/...`, if `UserDir` gives the user a folder.
fn of_user(mapping: &UrlMapping, path: &str) -> Option<Vec<u8>> {
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
    last.map(|folder| [folder.as_bytes(), rest.as_bytes()].concat())
}
