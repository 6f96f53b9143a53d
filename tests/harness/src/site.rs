//! Makes and fills the folder of a test's server: scripts, static files, configuration, logs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A temporary folder, removed at the end of the test.
pub struct Site {
    folder: tempfile::TempDir,
}

impl Default for Site {
    fn default() -> Self {
        Site::new()
    }
}

impl Site {
    pub fn new() -> Site {
        let folder = tempfile::Builder::new()
            .prefix("mehari-test-")
            .tempdir()
            .expect("a temporary folder can be made");
        let site = Site { folder };
        // Apache's children have another user than the tests.
        let mode = if crate::against_apache() {
            0o777
        } else {
            0o755
        };
        fs::set_permissions(site.root(), fs::Permissions::from_mode(mode)).expect("own folder");
        for name in ["htdocs", "scripts", "lib", "logs"] {
            fs::create_dir(site.path(name)).expect("an empty folder takes a new one");
            fs::set_permissions(site.path(name), fs::Permissions::from_mode(mode))
                .expect("own folder");
        }
        site
    }

    /// Lets any user write, because Apache's children have another user than the tests.
    pub(crate) fn open_to_all(&self) {
        for name in [".", "htdocs", "scripts", "lib", "logs"] {
            let mode = fs::Permissions::from_mode(0o777);
            fs::set_permissions(self.path(name), mode).expect("own folder");
        }
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Copies `tests/fixtures/NAME` into the folder `into` of the site, modes included.
    pub fn copy(&self, name: &str, into: &str) {
        self.copy_from(&crate::binary::fixture(name), into);
    }

    /// Copies any folder into the folder `into` of the site, with modes and modification times.
    pub fn copy_from(&self, folder: &Path, into: &str) {
        copy_tree(folder, &self.path(into));
    }

    /// Makes a folder that any user may write to, because Apache's children have another user than
    /// the tests.
    pub fn folder_for_all(&self, name: &str) {
        let path = self.path(name);
        fs::create_dir_all(&path).expect("a folder of the site");
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("own folder");
    }

    /// Unpacks the compressed documentation and examples of a package.
    pub fn unpack(&self, name: &str) {
        let status = std::process::Command::new("gzip")
            .args(["--decompress", "--recursive", "--quiet"])
            .arg(self.path(name))
            .status()
            .expect("gzip is part of every Debian system");
        // Status 2 is a warning: there was no compressed file.
        assert!(matches!(status.code(), Some(0 | 2)), "gzip: {status}");
    }

    /// Writes a file. A script (`.pl`, `.cgi`, or a first line with `#!`) becomes executable.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("a folder of the site");
        }
        fs::write(&path, text).expect("a file of the site");
        if text.starts_with("#!") || name.ends_with(".pl") || name.ends_with(".cgi") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("own file");
        }
        path
    }

    /// Replaces a file: writes a new file with another modification time, and renames it.
    pub fn replace(&self, name: &str, text: &str) {
        let path = self.path(name);
        let before = path.metadata().and_then(|meta| meta.modified()).ok();
        let fresh = self.write(&format!("{name}.new"), text);
        if name.ends_with(".pl") {
            fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755)).expect("own file");
        }
        if let Some(before) = before {
            // mod_perl compares whole seconds, and Mason compares with the time of its compiled
            // form. The new file therefore gets a time a few seconds later than both.
            let file = fs::File::options()
                .write(true)
                .open(&fresh)
                .expect("own file");
            file.set_modified(before.max(SystemTime::now()) + Duration::from_secs(3))
                .expect("own file");
        }
        fs::rename(fresh, path).expect("a rename within the site");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Returns the complete lines of a log. A line that is being written may end at the end of a
    /// page of memory, so it is left out.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let text = self.read(name);
        let lines = text.split_inclusive('\n');
        lines
            .filter_map(|line| line.strip_suffix('\n'))
            .map(str::to_owned)
            .collect()
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder of the site");
    let entries =
        fs::read_dir(from).unwrap_or_else(|error| panic!("fixture {}: {error}", from.display()));
    for entry in entries {
        let entry = entry.expect("a readable fixture");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            // `fs::copy` keeps the mode.
            fs::copy(entry.path(), &target).expect("a readable fixture");
            // Programs such as Apache::ASP compile a file at each request for as long as the file
            // is not older than its compiled form, by whole seconds. A copy made now would let two
            // servers differ for a second.
            let made = entry
                .metadata()
                .and_then(|meta| meta.modified())
                .expect("a file's time");
            let copy = fs::File::open(&target).expect("own file");
            copy.set_modified(made).expect("own file");
        }
    }
}
