//! Finds the variants of a name that was requested without suffixes. The folder's settings must
//! have `Options MultiViews`.

use super::{Search, NOT_FOUND};
use crate::routing::mapping::map;
use crate::routing::variants::{self, CandidateKind, NeighbourFile, Variants};
use crate::routing::{program, Route, RouteOutcome};
use mehari_config::Settings;
use mehari_http::path::Path;
use mehari_http::problem::Problem;
use mehari_text::percent;
use std::sync::Arc;

impl Search<'_> {
    /// Returns the variants of a name in a folder. `rest` is `/name` and the rest of the path.
    /// `None`: no file's name begins with the name.
    pub(super) fn views(
        &self,
        of: &Settings,
        folder: &[u8],
        path: &[u8],
        rest: &[u8],
    ) -> Result<Option<Variants>, Problem> {
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        let asked = first_segment(rest);
        if asked.is_empty() {
            return Ok(None);
        }
        if let Some(recorder) = &self.recorder {
            // Any new file may be a variant, and new files are not watched.
            recorder.note_unwatched();
        }
        let place = &path[..path.len() - rest.len()];
        let names = variants::candidates(folder, asked);
        let mut found = Variants::default();
        for name in &names {
            let path = Path::decode(&percent::encode_path(&[place, name].concat()));
            let Ok(path) = path.map(|path| (path.is_hidden(), path.merged)) else {
                continue;
            };
            let file = [folder, b"/", name].concat();
            let settings = self.settings(&path.1, &file)?;
            if path.0 || settings.denied || self.stops_at_link(&file, file.len())? {
                continue;
            }
            let candidate = NeighbourFile {
                asked,
                name,
                path: &file,
                handler: program::configured(&settings, &file),
            };
            match variants::describe(&candidate, &settings) {
                Some(CandidateKind::Variant(variant)) => {
                    if settings.is_guarded() && !settings.guards_as(of) {
                        found.guarded.push(name.clone());
                    }
                    found.all.push(*variant);
                }
                Some(CandidateKind::Map) => {
                    let of_map = variants::of_map(&file)?;
                    return Ok(Some(Variants {
                        is_map: false,
                        ..of_map
                    }));
                }
                None => {}
            }
        }
        variants::sort(&mut found.all);
        Ok((!names.is_empty()).then_some(found))
    }

    /// Returns the route of a name with variants. If no variant is usable, nothing is found.
    pub(super) fn negotiated(
        &self,
        settings: Arc<Settings>,
        path: Path,
        folder: Vec<u8>,
        rest: Vec<u8>,
        variants: Variants,
    ) -> Route {
        if variants.all.is_empty() {
            return self.refused(settings, NOT_FOUND);
        }
        let name = first_segment(rest.strip_prefix(b"/").unwrap_or(&rest)).to_vec();
        let mut script_name = path.merged;
        let slash = usize::from(rest.starts_with(b"/"));
        let path_info = script_name.split_off(script_name.len() - rest.len() + slash + name.len());
        Route {
            file: [&folder[..], b"/", &name].concat(),
            script_name,
            path_info,
            outcome: RouteOutcome::Negotiated(variants),
            ..self.refused(settings, NOT_FOUND)
        }
    }

    /// Whether a name in `DirectoryIndex` has variants, because it stands there without suffixes.
    pub(super) fn index_is_negotiated(&self, path: &Path) -> bool {
        let mapped = map(&self.host.mapping, &path.merged).file;
        let settings = self.settings(&path.merged, &mapped);
        let Some(settings) = settings.ok().filter(|settings| settings.files.multi_views) else {
            return false;
        };
        let Some(slash) = memchr::memrchr(b'/', &mapped) else {
            return false;
        };
        let found = self.views(&settings, &mapped[..slash], &path.merged, &mapped[slash..]);
        found.is_ok_and(|found| found.is_some_and(|found| !found.all.is_empty()))
    }
}

fn first_segment(rest: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'/', rest).unwrap_or(rest.len());
    &rest[..end]
}
