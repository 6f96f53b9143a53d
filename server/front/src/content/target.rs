//! The file of a route and the file's compressed neighbours (`style.css.br` beside `style.css`). A
//! target keeps the resources of these files.
//!
//! If the route's files are watched, the resources are valid until an event invalidates them.
//! Otherwise each request calls `stat`.

use super::resource::{Description, Identity, Resource, GONE};
use super::{media, Files};
use crate::content::decided::Decided;
use crate::content::stat::is_file;
use mehari_config::{Coding, Settings};
use mehari_filewatch::CacheValidity;
use mehari_http::problem::Problem;
use rustix::fs::Stat;
use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::CString;
use std::rc::Rc;

#[derive(Debug)]
pub struct FileTarget {
    path: CString,
    /// The version of the file at the time of routing.
    identity: Identity,
    /// The neighbours that existed at the time of routing and were not older than the file.
    neighbours: Vec<(Coding, CString)>,
    /// The resource of the file, then the resource of each neighbour.
    kept: RefCell<Vec<Option<CodedResource>>>,
    /// Whether the metadata came from the disk, so that the page cache cannot hold the file.
    cold: Cell<bool>,
    /// Whether the folder's watch must be prepared first, because no file of the folder was served
    /// yet.
    waits: Cell<bool>,
    validity: OnceCell<Rc<CacheValidity>>,
    /// The coding that was chosen for the last Accept-Encoding.
    pub codings: Decided,
}

/// A resource, and the coding for which the resource was chosen.
#[derive(Debug)]
struct CodedResource {
    asked: Option<Coding>,
    resource: Rc<Resource>,
}

impl FileTarget {
    /// Makes the target of a file without neighbours.
    pub fn new(path: CString, stat: &Stat) -> FileTarget {
        FileTarget {
            path,
            identity: Identity::of(stat),
            neighbours: Vec::new(),
            kept: RefCell::default(),
            cold: Cell::new(false),
            waits: Cell::new(false),
            validity: OnceCell::new(),
            codings: Decided::default(),
        }
    }

    /// Finds the neighbours of the file. `look` returns the `stat` of a path and may record it. If
    /// `may_send` refuses a neighbour, it is not sent.
    pub fn find_neighbours(
        &mut self,
        stat: &Stat,
        look: impl Fn(&[u8]) -> Option<Stat>,
        may_send: impl Fn(&[u8], Coding) -> bool,
    ) {
        let found = Coding::ALL.into_iter().filter_map(|coding| {
            let name = neighbour(&self.path, stat, coding, &look)?;
            may_send(name.as_bytes(), coding).then_some((coding, name))
        });
        self.neighbours = found.collect();
    }

    /// Sets the validity of the route's files. `None`: the system does not report changes.
    pub fn depend_on(&self, validity: Option<Rc<CacheValidity>>) {
        if let Some(validity) = validity {
            // The validity is set only once, when the target is made.
            let _ = self.validity.set(validity);
        }
    }

    pub fn wait_for_watch(&self) {
        self.waits.set(true);
    }

    /// Returns whether the file must be routed again once its folder can be watched.
    pub fn waits_for_watch(&self) -> bool {
        self.waits.get()
    }

    /// Notes that the page cache cannot hold the file, so the first reader does not probe.
    pub fn begin_cold(&self) {
        self.cold.set(true);
    }

    /// Returns whether nothing has changed since routing. `None`: the files are not watched.
    pub fn holds(&self) -> Option<bool> {
        self.validity.get().map(|validity| validity.holds())
    }

    /// Calls `stat` and returns whether the file is unchanged. This call finds changes for which
    /// the system sends no event: writes through a mapping, or a mount over a folder.
    pub fn is_unchanged(&self) -> bool {
        rustix::fs::stat(self.path.as_c_str())
            .is_ok_and(|stat| Identity::of(&stat) == self.identity)
    }

    /// Takes the resources of an earlier target of the same file.
    pub fn inherit(&self, other: &FileTarget) {
        let is_same = self.path == other.path && self.neighbours == other.neighbours;
        // An invalidated file may have changed without a visible change of its times, because
        // their resolution is limited. Its resources are not taken.
        if is_same && other.holds() != Some(false) {
            self.kept.replace(other.kept.take());
        }
    }

    pub fn has_neighbours(&self) -> bool {
        !self.neighbours.is_empty()
    }

    pub fn has_neighbour(&self, coding: Coding) -> bool {
        self.neighbours.iter().any(|(known, _)| *known == coding)
    }

    /// Returns the current resource of the file, or of its neighbour in this coding.
    pub fn resource(
        &self,
        coding: Option<Coding>,
        settings: &Settings,
        files: &Files,
    ) -> Result<Rc<Resource>, Problem> {
        let mut kept = self.kept.borrow_mut();
        let known = kept.iter().flatten().find(|known| known.asked == coding);
        if let Some(known) = known.filter(|_| self.holds() == Some(true)) {
            known.resource.use_it();
            return Ok(known.resource.clone());
        }
        kept.resize_with(self.neighbours.len() + 1, || None);
        let (place, identity) = self.look(coding)?;
        let resource = match &kept[place] {
            Some(known) if known.resource.identity() == identity => known.resource.clone(),
            _ => Rc::new(self.load(place, settings, files)?),
        };
        resource.use_it();
        let known = CodedResource {
            asked: coding,
            resource: resource.clone(),
        };
        kept[place] = Some(known);
        Ok(resource)
    }

    /// Returns the index of the representation to send, and its identity. A neighbour is sent
    /// unless the neighbour is older than the file.
    fn look(&self, coding: Option<Coding>) -> Result<(usize, Identity), Problem> {
        let stat = rustix::fs::stat(self.path.as_c_str()).map_err(|_| GONE)?;
        let mut neighbours = self.neighbours.iter();
        if let Some(at) = neighbours.position(|(known, _)| Some(*known) == coding) {
            let look = |path: &[u8]| crate::content::stat::stat(path).map(|(_, stat)| stat);
            if let Some(beside) = fresh(&self.neighbours[at].1, &stat, look) {
                return Ok((at + 1, Identity::of(&beside)));
            }
        }
        Ok((0, Identity::of(&stat)))
    }

    fn load(&self, place: usize, settings: &Settings, files: &Files) -> Result<Resource, Problem> {
        let (path, coding) = match place {
            0 => (&self.path, None),
            _ => {
                let (coding, path) = &self.neighbours[place - 1];
                (path, Some(*coding))
            }
        };
        let media_type = media::media_type(self.path.as_bytes(), settings);
        let own_coding = media::encoding(self.path.as_bytes(), settings);
        let own_coding = own_coding.filter(|_| coding.is_none());
        let description = Description {
            path,
            coding,
            own_coding: own_coding.as_deref(),
            language: media::language(self.path.as_bytes(), settings),
            varies: self.has_neighbours(),
            media_type: media_type.as_deref(),
            etag_parts: if settings.output.includes.hide_tag(self.path.as_bytes()) {
                0
            } else {
                settings.files.etag_parts()
            },
            has_ranges: settings.files.ranges.allow_ranges(),
            is_cold: self.cold.take(),
        };
        Resource::load(description, files)
    }

    /// Returns the bytes of file content in memory.
    pub fn weight(&self) -> usize {
        let kept = self.kept.borrow();
        kept.iter()
            .flatten()
            .map(|known| known.resource.body().len())
            .sum()
    }

    /// Closes files that were unused since the last call. With `forget`, drops unused content too.
    /// The sweep calls this function.
    pub fn rest(&self, forget: bool) {
        for place in self.kept.borrow_mut().iter_mut() {
            let Some(known) = place else {
                continue;
            };
            if known.resource.rest() && forget {
                *place = None;
            }
        }
    }
}

/// Returns the neighbour with the coding's suffix, if it is a file and not older than the original.
fn neighbour(
    path: &CString,
    original: &Stat,
    coding: Coding,
    look: impl Fn(&[u8]) -> Option<Stat>,
) -> Option<CString> {
    let mut name = path.as_bytes().to_vec();
    name.extend_from_slice(coding.suffix().as_bytes());
    let name = CString::new(name).ok()?;
    fresh(&name, original, look).map(|_| name)
}

/// Returns the `stat` of a neighbour, if it is a file and not older than the original.
fn fresh(
    neighbour: &CString,
    original: &Stat,
    look: impl Fn(&[u8]) -> Option<Stat>,
) -> Option<Stat> {
    let stat = look(neighbour.as_bytes())?;
    let age = |stat: &Stat| (stat.st_mtime, stat.st_mtime_nsec);
    (is_file(&stat) && age(&stat) >= age(original)).then_some(stat)
}
