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
    /// The name has no known end. Only `--exact` writes a folder.
    Folder,
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
    Ok(ProfileFile {
        path: text.into(),
        format: known.map_or(ProfileFormat::Folder, |(_, format)| *format),
    })
}

impl ProfileFile {
    /// Refuses a name without a known end.
    pub fn expect_file(&self) -> Result<(), String> {
        let ends: Vec<&str> = FORMATS.iter().map(|(end, _)| *end).collect();
        match self.format {
            ProfileFormat::Folder => Err(format!(
                "-o {}: expected a name that ends with {}",
                self.path.display(),
                ends.join(", ")
            )),
            _ => Ok(()),
        }
    }
}
