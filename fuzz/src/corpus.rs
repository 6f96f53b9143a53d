//! Reads the inputs from which mutations start: `fuzz/corpus/TARGET/*`. These inputs are valid, or
//! have once caused a failure.

use std::path::{Path, PathBuf};

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all inputs of a target, in the order of their names.
pub fn read(target: &str) -> Vec<Vec<u8>> {
    let folder = folder().join("corpus").join(target);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    let inputs: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).expect("a file of the corpus is readable"))
        .collect();
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    inputs
}

/// Writes a failing input of a target to a file. Returns the path of the file.
pub fn keep(target: &str, input: &[u8]) -> PathBuf {
    let found = folder().join("found");
    let number = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let file = found.join(format!("{target}-{number:016x}"));
    let written = std::fs::create_dir_all(&found).and_then(|()| std::fs::write(&file, input));
    if let Err(error) = written {
        eprintln!("{}: {error}", file.display());
    }
    file
}
