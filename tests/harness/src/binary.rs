//! Finds the program under test and the fixtures.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Returns the top folder of the checkout.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the harness lies two folders below the workspace")
        .to_path_buf()
}

/// Returns the path of a folder or file under `tests/fixtures`.
pub fn fixture(name: &str) -> PathBuf {
    workspace().join("tests/fixtures").join(name)
}

/// Returns the path of a folder under `tests/programs`. Such a folder has the configuration of a
/// real program, and files that the program's package lacks.
pub fn program_folder(name: &str) -> PathBuf {
    workspace().join("tests/programs").join(name)
}

/// Returns whether other users can enter the checkout. They cannot if it lies below a private
/// folder, such as root's home. A server that becomes another user could not read its files then.
pub fn is_open_to_others() -> bool {
    workspace().canonicalize().is_ok_and(|top| {
        top.ancestors().all(|folder| {
            let about = folder.metadata();
            about.is_ok_and(|about| about.permissions().mode() & 0o001 != 0)
        })
    })
}

/// Returns the path in `MEHARI_BIN`, or else the newer one of the release and the debug build.
pub fn mehari() -> PathBuf {
    if let Some(path) = std::env::var_os("MEHARI_BIN") {
        return PathBuf::from(path);
    }
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => workspace().join("target"),
    };
    ["release", "debug"]
        .iter()
        .map(|profile| target.join(profile).join("mehari"))
        .filter_map(|path| Some((modified(&path)?, path)))
        .max()
        .map(|(_, path)| path)
        .unwrap_or_else(|| {
            panic!(
                "there is no mehari under {}: run `cargo build -p mehari` first, or set MEHARI_BIN",
                target.display()
            )
        })
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}
