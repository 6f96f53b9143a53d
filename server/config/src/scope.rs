//! A section of the configuration, and the requests that the section matches.

mod named_groups;

pub use named_groups::NamedGroups;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::glob;

/// What sections match.
#[derive(Debug, Clone, Copy)]
pub struct RequestPlace<'a> {
    /// The decoded and normalised URL path.
    pub url_path: &'a [u8],
    /// The file to which the path is mapped.
    pub file: Option<&'a Path>,
    /// The path that Apache has walked to this file, which `<DirectoryMatch>` and `<Files>` match:
    /// the existing folders and one more name. It ends with a slash if the request for a folder
    /// does. `None`: the file's path.
    pub walked: Option<&'a Path>,
    /// The part of the walked path that exists, which a `<Directory>` matches. An index does not
    /// belong to it, only the folder. `None`: the file's path.
    pub existing: Option<&'a Path>,
    /// What a `<DirectoryMatch>` matches in place of the walked path: the folder of an index.
    pub folder: Option<&'a Path>,
}

impl<'a> RequestPlace<'a> {
    /// Makes the place of a path and its file.
    pub fn of(
        url_path: &'a (impl AsRef<[u8]> + ?Sized),
        file: Option<&'a Path>,
    ) -> RequestPlace<'a> {
        RequestPlace {
            url_path: url_path.as_ref(),
            file,
            walked: None,
            existing: None,
            folder: None,
        }
    }

    fn walked_bytes(&self) -> Option<&'a [u8]> {
        let walked = self.walked.or(self.file);
        walked.map(|path| path.as_os_str().as_bytes())
    }

    fn folder_bytes(&self) -> Option<&'a [u8]> {
        let folder = self.folder.map(|path| path.as_os_str().as_bytes());
        folder.or_else(|| self.walked_bytes())
    }
}

/// A section of the configuration, and its changes.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Section {
    pub scope: Scope,
    /// The enclosing `<Directory>` or `<DirectoryMatch>` of a `<Files>`.
    pub within: Option<Scope>,
    /// The changes, which [`crate::Host::settings`] applies in this order.
    pub changes: Vec<crate::Change>,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum Scope {
    /// `<Location /path>`: matches the URL path and all URL paths below it.
    Location(String),
    /// `<Directory /path>`: matches the folder and all files below it.
    Directory(PathBuf),
    /// `<Files name>`: matches the last segment of the file path. `*` and `?` are wildcards.
    Files(String),
    /// `<LocationMatch regex>` or `<Location ~ regex>`: matches anywhere in the URL path.
    LocationMatch(crate::Pattern),
    /// `<DirectoryMatch regex>`: matches anywhere in the walked path ([`RequestPlace::walked`]).
    DirectoryMatch(crate::Pattern),
    /// `<FilesMatch regex>`: matches anywhere in the last segment of the file path.
    FilesMatch(crate::Pattern),
}

/// Prints the scope as the section's opening line has it.
impl std::fmt::Display for Scope {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scope::Location(path) => write!(out, "<Location {path}>"),
            Scope::Directory(path) => write!(out, "<Directory {}>", path.display()),
            Scope::Files(name) => write!(out, "<Files {name}>"),
            Scope::LocationMatch(pattern) => write!(out, "<LocationMatch {pattern}>"),
            Scope::DirectoryMatch(pattern) => write!(out, "<DirectoryMatch {pattern}>"),
            Scope::FilesMatch(pattern) => write!(out, "<FilesMatch {pattern}>"),
        }
    }
}

impl Scope {
    pub(crate) fn is_of_files(&self) -> bool {
        matches!(self, Scope::Files(_) | Scope::FilesMatch(_))
    }

    /// Returns the path or the pattern of the scope, for `$r->location`.
    pub(crate) fn path(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Scope::Directory(path) => path.to_string_lossy(),
            Scope::Location(text) | Scope::Files(text) => text.into(),
            Scope::LocationMatch(pattern)
            | Scope::DirectoryMatch(pattern)
            | Scope::FilesMatch(pattern) => pattern.as_str().into(),
        }
    }
}

impl Scope {
    /// Returns the pattern's named groups, if the scope has any.
    pub(crate) fn groups(&self) -> Option<NamedGroups> {
        let (Scope::LocationMatch(pattern)
        | Scope::DirectoryMatch(pattern)
        | Scope::FilesMatch(pattern)) = self
        else {
            return None;
        };
        let has_groups = !pattern.group_names().is_empty();
        has_groups.then(|| NamedGroups {
            scope: self.clone(),
        })
    }
}

impl Section {
    pub(crate) fn matches(&self, place: RequestPlace<'_>) -> bool {
        let is_around = |folder: &Scope| folder.matches(place);
        self.within.as_ref().is_none_or(is_around) && self.scope.matches(place)
    }

    /// Tells whether the section is none of folders alone.
    pub(crate) fn is_of_path(&self) -> bool {
        self.rank().0 > 0
    }

    /// Returns the section's rank in merging. Sections of the same rank keep their order.
    pub(crate) fn rank(&self) -> (u8, (u8, usize)) {
        match &self.scope {
            Scope::Directory(_) | Scope::DirectoryMatch(_) => (0, folder_rank(Some(&self.scope))),
            Scope::Files(_) | Scope::FilesMatch(_) => (1, folder_rank(self.within.as_ref())),
            Scope::Location(_) | Scope::LocationMatch(_) => (2, (0, 0)),
        }
    }
}

/// Returns the rank of a folder's section, and of the `<Files>` sections in it: sections without a
/// folder come first, then folders by their depth, then patterns. As in Apache, a pattern has the
/// depth of its slashes.
fn folder_rank(folder: Option<&Scope>) -> (u8, usize) {
    match folder {
        Some(Scope::Directory(path)) => (1, depth(path)),
        Some(Scope::DirectoryMatch(pattern)) => {
            let slashes = pattern.as_str().bytes().filter(|&byte| byte == b'/');
            (2, slashes.count())
        }
        _ => (0, 0),
    }
}

fn depth(path: &Path) -> usize {
    segments(path.as_os_str().as_bytes()).count() + 1
}

impl Scope {
    /// Returns the pattern of the scope and the text that it matches. `None`: the scope has no
    /// pattern, or the file is not known yet.
    pub(crate) fn pattern_and_text<'t>(
        &self,
        place: RequestPlace<'t>,
    ) -> Option<(&crate::Pattern, &'t [u8])> {
        Some(match self {
            Scope::LocationMatch(pattern) => (pattern, place.url_path),
            Scope::DirectoryMatch(pattern) => (pattern, place.folder_bytes()?),
            Scope::FilesMatch(pattern) => (pattern, last_segment(place.walked_bytes()?)),
            Scope::Location(_) | Scope::Directory(_) | Scope::Files(_) => return None,
        })
    }

    fn matches(&self, place: RequestPlace<'_>) -> bool {
        match self {
            Scope::Location(prefix) => location_matches(prefix, place.url_path),
            Scope::Directory(folder) => {
                let existing = place.existing.or(place.file);
                existing.is_some_and(|existing| is_inside(folder, existing))
            }
            Scope::Files(name) => {
                let path = place.walked_bytes();
                path.is_some_and(|path| glob::matches(name.as_bytes(), last_segment(path)))
            }
            Scope::LocationMatch(_) | Scope::DirectoryMatch(_) | Scope::FilesMatch(_) => self
                .pattern_and_text(place)
                .is_some_and(|(pattern, text)| pattern.matches(text)),
        }
    }
}

/// Tells whether a folder's path has wildcards.
pub(crate) fn is_pattern(folder: &Path) -> bool {
    glob::is_pattern(folder.as_os_str().as_bytes())
}

/// Tells whether a `<Location>` matches a URL path. A plain location matches itself and all paths
/// below it. A location with wildcards must match the whole path, as in Apache.
fn location_matches(location: &str, url_path: &[u8]) -> bool {
    let location = location.as_bytes();
    if glob::is_pattern(location) {
        let mut patterns = location.split(|byte| *byte == b'/');
        let mut parts = url_path.split(|byte| *byte == b'/');
        return loop {
            match (patterns.next(), parts.next()) {
                (None, None) => break true,
                (Some(pattern), Some(part)) if glob::matches(pattern, part) => {}
                _ => break false,
            }
        };
    }
    match url_path.strip_prefix(location) {
        Some(rest) => location.ends_with(b"/") || rest.is_empty() || rest.starts_with(b"/"),
        None => false,
    }
}

/// Tells whether `file` is `directory` or below it. Segments of `directory` may be patterns.
fn is_inside(directory: &Path, file: &Path) -> bool {
    let mut parts = segments(file.as_os_str().as_bytes());
    segments(directory.as_os_str().as_bytes()).all(|pattern| {
        parts
            .next()
            .is_some_and(|part| glob::matches(pattern, part))
    })
}

fn segments(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty())
}

fn last_segment(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_ends_on_a_segment_boundary() {
        for (location, path, expected) in [
            ("/", "/any", true),
            ("/perl", "/perl", true),
            ("/perl", "/perl/x.pl", true),
            ("/perl", "/perlish", false),
            ("/perl/", "/perl", false),
            ("/perl/", "/perl/x", true),
            ("/*/x", "/a/x", true),
            ("/*/x", "/a/x/y", false),
        ] {
            assert_eq!(
                location_matches(location, path.as_bytes()),
                expected,
                "{location} {path}"
            );
        }
    }

    #[test]
    fn a_directory_ends_on_a_segment_boundary_and_may_have_wildcards() {
        for (directory, file, expected) in [
            ("/", "/srv/a", true),
            ("/srv/www", "/srv/www/a.pl", true),
            ("/srv/www/", "/srv/www/a.pl", true),
            ("/srv/www", "/srv/www2/a.pl", false),
            ("/home/*/public", "/home/ann/public/x", true),
            ("/home/*/public", "/home/ann/private/x", false),
        ] {
            let inside = is_inside(Path::new(directory), Path::new(file));
            assert_eq!(inside, expected, "{directory} {file}");
        }
    }
}
