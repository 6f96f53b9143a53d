//! Reads profiles that were kept: a file of `-o FILE.profile`, or the samples of `ProfileAlways`.

use super::moment::{now, Moment};
use super::ProfileOptions;
use crate::cli::control;
use mehari_profile::{kept_between, kept_since, read, Damage, PartEncoder, Profile};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the time of `--at` lasts.
const MINUTE: u64 = 60_000_000;

/// Returns the contents of a file that keeps all of the profile.
pub fn bytes(profile: &Profile) -> io::Result<Vec<u8>> {
    PartEncoder::default().encode(profile, Duration::ZERO)
}

pub fn read_file(path: &Path) -> Result<Profile, String> {
    let file = path.display();
    let bytes = std::fs::read(path).map_err(|error| format!("{file}: {error}"))?;
    let mut profile = Profile::default();
    match read(&bytes, &|_| true, &mut profile) {
        Ok(()) => {}
        Err(Damage::NoProfile) => {
            return Err(format!(
                "{file}: expected a file that `mehari profile -o NAME.profile` has written"
            ))
        }
        Err(Damage::From(at)) => {
            eprintln!("mehari profile: {file}: damaged from byte {at} on; what is before is read")
        }
    }
    Ok(profile)
}

/// Returns the samples of `ProfileAlways` that the options ask for.
pub fn between(options: &ProfileOptions, from: Moment) -> Result<Profile, String> {
    let to = match (options.at, options.to) {
        (Some(at), _) => Moment(at.0 + MINUTE),
        (None, Some(to)) => to,
        (None, None) => now(),
    };
    if from >= to {
        return Err(format!("--from {from} is not before --to {to}"));
    }
    let folder = folder(options)?;
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    let profile = kept_between(&folder, from.0, to.0).map_err(failed)?;
    if profile.facts.looks == 0 {
        let kept = match kept_since(&folder).map_err(failed)? {
            Some(since) => format!("the oldest are of {}", Moment(since)),
            None => "none are kept yet".to_owned(),
        };
        return Err(format!(
            "{}: no samples from {from} to {to}; {kept}",
            folder.display()
        ));
    }
    eprintln!("mehari profile: the samples from {from} to {to}");
    Ok(profile)
}

fn folder(options: &ProfileOptions) -> Result<PathBuf, String> {
    if let Some(folder) = &options.folder {
        return Ok(folder.clone());
    }
    let status = control::ask(options.control.as_deref(), "status")?;
    let folder = status["profile_folder"].as_str().map(PathBuf::from);
    folder.ok_or_else(|| {
        "the server keeps no samples; expected `ProfileAlways 19` in its configuration, or \
         `--folder FOLDER`"
            .to_owned()
    })
}
