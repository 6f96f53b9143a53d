//! Finds the files that `--watch` watches in the folders of an application: Perl code, templates
//! and settings. While a generation serves, the pool knows which of the Perl files are loaded.

use super::Options;
use mehari_config::{Preload, Site};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The most files that are watched.
const MOST: usize = 5000;
/// The deepest folder below an application's own that is looked at.
const DEEPEST: usize = 12;

const CODE: [&str; 4] = ["psgi", "pm", "pl", "cgi"];
const SETTINGS: [&str; 6] = ["conf", "yml", "yaml", "ini", "toml", "env"];
const TEMPLATES: [&str; 15] = [
    "tt", "tt2", "ttml", "tx", "ep", "epl", "tmpl", "tpl", "mc", "mp", "mi", "mas", "mhtml",
    "mason", "xslt",
];
/// Folders in which every file is a template.
const TEMPLATE_FOLDERS: [&str; 4] = ["templates", "template", "views", "tmpl"];
/// Folders of other people's code, which nobody edits.
const FOREIGN: [&str; 2] = ["local", "node_modules"];

/// The time of the last change of each file. `None`: the file is not there.
pub type Times = HashMap<PathBuf, Option<SystemTime>>;

/// Returns the modification time of each file.
pub fn times(files: impl IntoIterator<Item = PathBuf>) -> Times {
    let each = files.into_iter().map(|path| {
        let time = std::fs::metadata(&path).and_then(|meta| meta.modified());
        (path, time.ok())
    });
    each.collect()
}

/// Returns the folders of an application: the one of PATH or of the configuration, those of `-I`
/// and of `PerlSwitches -I`, and those of the files that are loaded at the start.
pub fn folders(options: &Options, site: Option<&Site>) -> Vec<PathBuf> {
    let current = PathBuf::from(".");
    let given = options.conf.as_ref().or(options.path.as_ref());
    let given = given.unwrap_or(&current).canonicalize().ok();
    let mut folders: Vec<PathBuf> = given.map(folder_of).into_iter().collect();
    folders.extend(
        options
            .include
            .iter()
            .filter_map(|it| it.canonicalize().ok()),
    );
    for perl in site.iter().flat_map(|site| &site.perls) {
        let switches = perl.switches.iter().filter_map(|it| it.strip_prefix("-I"));
        folders.extend(switches.filter_map(|it| Path::new(it).canonicalize().ok()));
        let loaded = perl.preloads.iter().filter_map(|it| match &it.what {
            Preload::Require(file) | Preload::Script(_, file) | Preload::Psgi(file) => Some(file),
            _ => None,
        });
        folders.extend(loaded.filter(|it| it.is_absolute()).cloned().map(folder_of));
    }
    folders.sort();
    folders.dedup();
    let all = folders.clone();
    folders.retain(|it| !all.iter().any(|other| it != other && it.starts_with(other)));
    folders
}

fn folder_of(path: PathBuf) -> PathBuf {
    match path.parent() {
        Some(parent) if !path.is_dir() => parent.to_path_buf(),
        _ => path,
    }
}

/// Returns the code, templates and settings in the folders. Hidden files are left out.
pub fn in_folders(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left: Vec<(PathBuf, usize)> = folders.iter().map(|it| (it.clone(), 0)).collect();
    while let Some((folder, depth)) = left.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if name.starts_with('.') || is_folder && FOREIGN.contains(&&*name) {
                continue;
            }
            let path = entry.path();
            if is_folder && depth < DEEPEST {
                left.push((path, depth + 1));
            } else if !is_folder && (has_suffix(&path, &CODE) || is_setting_or_template(&path)) {
                found.push(path);
            }
            if found.len() == MOST {
                return found;
            }
        }
    }
    found
}

/// Whether a file may be read only once although it is not code: an application keeps its settings
/// and its compiled templates.
pub fn is_setting_or_template(path: &Path) -> bool {
    let mut folders = path.ancestors().skip(1).filter_map(Path::file_name);
    has_suffix(path, &SETTINGS)
        || has_suffix(path, &TEMPLATES)
        || folders.any(|name| TEMPLATE_FOLDERS.iter().any(|known| name == *known))
}

fn has_suffix(path: &Path, known: &[&str]) -> bool {
    let suffix = path.extension().and_then(|suffix| suffix.to_str());
    suffix.is_some_and(|suffix| known.contains(&suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_templates_and_settings_are_found_but_no_data_and_no_foreign_code() {
        let folder = tempfile::tempdir().expect("a folder");
        for (file, is_found) in [
            ("app.psgi", true),
            ("lib/Shop/Cart.pm", true),
            ("views/index.html", true),
            ("root/page.tt", true),
            ("config.yml", true),
            ("shop.db", false),
            ("public/index.html", false),
            ("local/lib/perl5/Plack.pm", false),
            (".git/hooks/pre-commit.pl", false),
        ] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(&path, "").expect("written");
            let found = in_folders(&[folder.path().to_path_buf()]);
            assert_eq!(found.contains(&path), is_found, "{file}: {found:?}");
        }
    }
}
