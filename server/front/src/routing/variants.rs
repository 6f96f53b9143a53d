//! Finds the variants of a resource, among which `pipeline::negotiate` chooses: files whose names
//! begin with the requested name (`Options MultiViews`), or the entries of a type map.

use crate::content::media::NameMeaning;
use crate::content::stat::{is_file, stat};
use mehari_config::{Handler, Settings};
use mehari_http::negotiation::{type_map, Variant, PROGRAM, TYPE_MAP, VARIANTS};
use mehari_http::problem::Problem;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

/// The most entries of a folder that are examined, because the event loop waits meanwhile.
const ENTRIES: usize = 10_000;
/// The largest type map in bytes.
const MAP: u64 = 1 << 20;

const UNREADABLE: Problem = Problem::refused(403, "the type map may not be read");
const TOO_LARGE: Problem = Problem::refused(500, "the type map is too large");

/// The variants of a resource. Among equally good variants, the first is preferred.
#[derive(Debug, Default)]
pub struct Variants {
    pub all: Vec<Variant>,
    /// Whether the variants are the entries of a type map, which is the route's file. Otherwise the
    /// variants are files in the folder of the route's file.
    pub is_map: bool,
    /// The names of variants with access rules of their own.
    pub guarded: Vec<Vec<u8>>,
}

/// Returns the names in a folder that begin with `name` and a dot, sorted. Names of folders are
/// left out.
pub fn candidates(folder: &[u8], name: &[u8]) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(OsStr::from_bytes(folder));
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut fitting: Vec<Vec<u8>> = entries
        .take(ENTRIES)
        .flatten()
        .map(|entry| (entry.file_name(), entry))
        .filter(|(known, _)| {
            let behind = known.as_bytes().strip_prefix(name);
            behind.is_some_and(|suffix| suffix.starts_with(b"."))
        })
        .filter(|(_, entry)| entry.file_type().is_ok_and(|kind| !kind.is_dir()))
        .map(|(known, _)| known.as_bytes().to_vec())
        .collect();
    fitting.sort();
    fitting.truncate(VARIANTS);
    fitting
}

/// A file of a folder, and the handler that would run for it.
pub struct NeighbourFile<'a> {
    /// The requested name, without the folder.
    pub asked: &'a [u8],
    pub name: &'a [u8],
    pub path: &'a [u8],
    pub handler: Option<&'a Handler>,
}

/// What a file with a fitting name is.
pub enum CandidateKind {
    Variant(Box<Variant>),
    /// A type map, whose entries replace the files of the folder as variants.
    Map,
}

/// Describes a file with a fitting name. `None`: a suffix is unknown, or the file has no media
/// type.
pub fn describe(file: &NeighbourFile<'_>, settings: &Settings) -> Option<CandidateKind> {
    let (_, found) = stat(file.path).filter(|(_, found)| is_file(found))?;
    let meaning = NameMeaning::of(file.name, settings);
    if !meaning.is_known || !names_in_order(file.asked, &meaning.unknown) {
        return None;
    }
    if matches!(file.handler, Some(Handler::TypeMap)) {
        return Some(CandidateKind::Map);
    }
    let is_handled = file
        .handler
        .is_some_and(|handler| *handler != Handler::File);
    let bare = match &meaning.media_type {
        Some(TYPE_MAP) => return Some(CandidateKind::Map),
        Some(known) => known,
        None if is_handled => PROGRAM,
        None => return None,
    };
    let mut variant = Variant {
        name: file.name.to_vec(),
        languages: meaning
            .languages
            .iter()
            .map(|tag| tag.to_string())
            .collect(),
        encoding: meaning.encoding(),
        length: Some(found.st_size as u64),
        is_handled,
        ..Variant::default()
    };
    variant.set_type(bare.as_bytes());
    if let Some(charset) = meaning.charset {
        variant.charset = charset.to_ascii_lowercase();
    }
    Some(CandidateKind::Variant(Box::new(variant)))
}

/// Whether the requested name contains these parts in this order, divided by dots.
fn names_in_order(asked: &[u8], parts: &[&[u8]]) -> bool {
    let mut wanted = parts.iter().peekable();
    for part in asked.split(|byte| *byte == b'.') {
        wanted.next_if(|wanted| **wanted == part);
    }
    wanted.peek().is_none()
}

/// Sorts the variants of a folder: the source quality first, then the name.
pub fn sort(variants: &mut [Variant]) {
    variants.sort_by(|one, other| {
        let by_quality = other.source_quality.total_cmp(&one.source_quality);
        by_quality.then_with(|| one.name.cmp(&other.name))
    });
}

/// Returns the variants of a type map.
pub fn of_map(file: &[u8]) -> Result<Variants, Problem> {
    let path = std::path::Path::new(OsStr::from_bytes(file));
    let mut text = Vec::new();
    let opened = File::open(path).map_err(|_| UNREADABLE)?;
    let read = opened.take(MAP + 1).read_to_end(&mut text);
    read.map_err(|_| UNREADABLE)?;
    if text.len() as u64 > MAP {
        return Err(TOO_LARGE);
    }
    let slash = memchr::memrchr(b'/', file).map_or(0, |slash| slash + 1);
    let (folder, name) = file.split_at(slash);
    let mut all = type_map::read(&text, name)?;
    for variant in all.iter_mut().filter(|variant| variant.length.is_none()) {
        let found = stat(&[folder, &variant.name].concat());
        variant.length = found.map(|(_, found)| found.st_size as u64);
    }
    Ok(Variants {
        all,
        is_map: true,
        guarded: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::names_in_order;

    #[test]
    fn unknown_suffixes_must_be_named_in_order() {
        for (asked, parts, fits) in [
            ("index", &["index"][..], true),
            ("index.html", &["index"], true),
            ("index.html", &["index", "foo"], false),
            ("index.html.foo", &["index", "foo"], true),
            ("index.foo.bar", &["index", "bar", "foo"], false),
        ] {
            let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
            assert_eq!(names_in_order(asked.as_bytes(), &parts), fits, "{asked}");
        }
    }
}
