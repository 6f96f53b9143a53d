//! Finds the names in a folder that are similar to a missing name, as Apache's mod_speling does.
//! The search reads a folder, so a thread makes it.

use crate::content::stat::stat;
use crate::request::rule_state::{Likeness, SimilarName, SimilarNames};
use mehari_config::Spelling;
use mehari_http::path::Path;
use mehari_text::percent;
use rustix::fs::FileType;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The most entries of a folder that are examined.
const ENTRIES: usize = 10_000;

/// A path for which there is no file.
pub struct MissingFile {
    /// The decoded URL path.
    pub path: Vec<u8>,
    /// The file to which the path is mapped.
    pub file: Vec<u8>,
    pub spelling: Spelling,
}

impl MissingFile {
    /// Returns the names that are similar to the first missing name of the path. Names that the
    /// server hides are left out.
    pub fn similar_names(&self) -> SimilarNames {
        self.search().unwrap_or_default()
    }

    fn search(&self) -> Option<SimilarNames> {
        let slash = self.last_folder()?;
        let (folder, rest) = self.file.split_at(slash + 1);
        let end = memchr::memchr(b'/', rest).unwrap_or(rest.len());
        let (wanted, behind) = rest.split_at(end);
        // The missing name must stand in the URL path, so that the name can be replaced there.
        let url = self.path.strip_suffix(rest)?;
        if wanted.is_empty() || !url.ends_with(b"/") {
            return None;
        }
        let folder = std::path::Path::new(OsStr::from_bytes(folder));
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).ok()?.flatten().take(ENTRIES) {
            let name = entry.file_name().as_bytes().to_vec();
            if name == wanted {
                // The file is there, but is no file to be sent, such as a broken link.
                return None;
            }
            let Some(likeness) = likeness(wanted, &name, self.spelling) else {
                continue;
            };
            let shown = Path::decode(&percent::encode_path(&[url, &name].concat()));
            if shown.is_ok_and(|path| !path.is_hidden()) {
                names.push(SimilarName { likeness, name });
            }
        }
        names.sort();
        Some(SimilarNames {
            before: url.len(),
            behind: behind.len(),
            names,
        })
    }

    /// Returns the position of the slash behind the last folder on the file's path that exists.
    /// `None`: a file stands where the next folder should be.
    fn last_folder(&self) -> Option<usize> {
        let slashes = memchr::memrchr_iter(b'/', &self.file);
        for slash in slashes {
            if let Some((_, found)) = stat(&self.file[..slash + 1]) {
                let kind = FileType::from_raw_mode(found.st_mode);
                return (kind == FileType::Directory).then_some(slash);
            }
        }
        None
    }
}

/// Returns how a name is similar to the wanted name. `None`: they are not similar.
fn likeness(wanted: &[u8], name: &[u8], spelling: Spelling) -> Option<Likeness> {
    if wanted.eq_ignore_ascii_case(name) {
        return Some(Likeness::OtherCase);
    }
    let typo = || (!spelling.case_only).then(|| typo(wanted, name)).flatten();
    let base = |name: &[u8]| memchr::memchr(b'.', name).unwrap_or(name.len());
    let has_same_base = || {
        let length = base(wanted);
        length == base(name) && wanted[..length].eq_ignore_ascii_case(&name[..length])
    };
    typo().or_else(|| (spelling.basenames && has_same_base()).then_some(Likeness::Basename))
}

/// Returns the one error that makes `wanted` of `name`, if there is only one.
fn typo(wanted: &[u8], name: &[u8]) -> Option<Likeness> {
    let same = |(one, other): &(&u8, &u8)| one.eq_ignore_ascii_case(other);
    let start = wanted.iter().zip(name).take_while(same).count();
    match (&wanted[start..], &name[start..]) {
        ([a, b, rest @ ..], [c, d, others @ ..])
            if [a, b].map(u8::to_ascii_lowercase) == [d, c].map(u8::to_ascii_lowercase)
                && rest.eq_ignore_ascii_case(others) =>
        {
            Some(Likeness::Transposed)
        }
        ([_, rest @ ..], [_, others @ ..]) if rest.eq_ignore_ascii_case(others) => {
            Some(Likeness::Mistyped)
        }
        ([_, rest @ ..], others) if rest.eq_ignore_ascii_case(others) => Some(Likeness::Extra),
        (rest, [_, others @ ..]) if rest.eq_ignore_ascii_case(others) => Some(Likeness::Missing),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{likeness, Likeness, Spelling};

    #[test]
    fn a_name_is_similar_by_one_error_or_by_its_base() {
        use Likeness::*;
        for (wanted, name, expected) in [
            ("Index.html", "index.HTML", Some(OtherCase)),
            ("idnex.html", "index.html", Some(Transposed)),
            ("idex.html", "index.html", Some(Missing)),
            ("inndex.html", "index.html", Some(Extra)),
            ("inxex.html", "Index.html", Some(Mistyped)),
            ("index.htm", "index.html", Some(Missing)),
            ("index.db", "index.html", Some(Basename)),
            ("index", "index.html", Some(Basename)),
            ("idxne.html", "index.html", None),
            ("a", "bc", None),
        ] {
            let found = likeness(wanted.as_bytes(), name.as_bytes(), Spelling::default());
            assert_eq!(found, expected, "{wanted} {name}");
        }
    }
}
