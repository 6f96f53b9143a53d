//! Reads a .htaccess file: the language of httpd.conf for one folder, restricted by
//! `AllowOverride`.

use std::path::{Path, PathBuf};

use super::{Open, OpenKind, Reader};
use crate::problem::{At, Fault};
use crate::{Htaccess, Overrides, Problems, Scope, Section, Site};

impl Site {
    /// Reads a folder's .htaccess file.
    ///
    /// # Errors
    /// All problems of the file. Each problem names the file.
    pub fn read_htaccess(
        &self,
        file: &Path,
        folder: &Path,
        may: Overrides,
    ) -> Result<Htaccess, Problems> {
        sections(self, file, folder, may).map(Htaccess::new)
    }
}

/// Returns the sections of the file. The section of the folder itself comes first.
fn sections(
    site: &Site,
    file: &Path,
    folder: &Path,
    may: Overrides,
) -> Result<Vec<Section>, Problems> {
    let mut reader = Reader::new(&[], None);
    reader.environment.definitions.clone_from(&site.definitions);
    reader.site.server_root.clone_from(&site.server_root);
    reader
        .site
        .back_ends
        .upstreams
        .clone_from(&site.back_ends.upstreams);
    reader.environment.refused_options = !may.said.options.unwrap_or(u8::MAX);
    reader.htaccess = Some(may);
    reader.open.push(Open {
        name: "Directory".to_string(),
        file: file.to_path_buf(),
        at: At::default(),
        number: 0,
        kind: OpenKind::Scoped(of_folder(folder)),
    });
    reader.read_file(file);
    reader.refuse_new_back_ends(site);
    reader.check_handler_names();
    let Reader {
        mut open,
        main,
        problems,
        notes,
        ..
    } = reader;
    if !problems.is_empty() {
        return Err(Problems { problems, notes });
    }
    let mut sections = Vec::new();
    if let Some(OpenKind::Scoped(section)) = open.pop().map(|open| open.kind) {
        sections.push(section);
    }
    sections.extend(main.host.sections);
    Ok(sections)
}

/// Returns the section for a folder's .htaccess.
fn of_folder(folder: &Path) -> Section {
    Section {
        scope: Scope::Directory(PathBuf::from(folder)),
        within: None,
        changes: Vec::new(),
    }
}

impl Reader<'_> {
    /// Refuses back ends that the site does not have, because back ends must be known when the
    /// server starts.
    fn refuse_new_back_ends(&mut self, site: &Site) {
        for (name, file, at) in std::mem::take(&mut self.unchecked.named) {
            if site.upstream(&name).is_none() {
                let message = format!(
                    "expected a back end that the configuration names too, not `{name}`: a .htaccess cannot add one"
                );
                self.file = file;
                self.refuse(Fault::new(at, message));
            }
        }
    }
}

/// Returns the reason for which a directive may not stand in the file.
pub(super) fn refusal(row: &crate::Directive, may: &Overrides) -> String {
    match row.overrides {
        0 => format!(
            "{} cannot stand in a .htaccess; expected it in the configuration",
            row.name
        ),
        _ => {
            let allowed = if may.is_none() {
                "nothing"
            } else {
                "other directives only"
            };
            format!(
                "{} is not allowed here: AllowOverride lets this file say {allowed}; expected `AllowOverride {}` in its <Directory>",
                row.name,
                crate::overrides::class_names(row.overrides)
            )
        }
    }
}
