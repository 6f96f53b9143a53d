//! The file that `-o` names: the end of the name tells the format.

use std::path::PathBuf;

/// A file to write, whose name tells the format.
#[derive(Debug, Clone)]
pub struct ProfileFile {
    pub path: PathBuf,
    pub format: ProfileFormat,
}

#[derive(Debug, Clone, Copy)]
pub enum ProfileFormat {
    Text,
    Page,
    Pprof,
    Firefox,
    /// All of the profile, for `--read` and `--difference`.
    Kept,
}

const FORMATS: &[(&str, ProfileFormat)] = &[
    (".html", ProfileFormat::Page),
    (".pb.gz", ProfileFormat::Pprof),
    (".json", ProfileFormat::Firefox),
    (".txt", ProfileFormat::Text),
    (".profile", ProfileFormat::Kept),
];

pub fn profile_file(text: &str) -> Result<ProfileFile, String> {
    let known = FORMATS.iter().find(|(end, _)| text.ends_with(end));
    let ends: Vec<&str> = FORMATS.iter().map(|(end, _)| *end).collect();
    let (_, format) =
        known.ok_or_else(|| format!("expected a name that ends with {}", ends.join(", ")))?;
    Ok(ProfileFile {
        path: text.into(),
        format: *format,
    })
}
