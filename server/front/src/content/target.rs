//! The file of a route and its neighbours (`style.css.br` beside `style.css`), with what is kept of them.
//!
//! Where the route's files are watched, what is kept is right until an event invalidates it. Elsewhere
//! a `stat` for each request decides whether it is still the file.

use super::resource::{Identity, Resource, GONE};
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
    /// As it was when it was routed.
    identity: Identity,
    /// Neighbours that were there, and not older, when the file was routed.
    neighbours: Vec<(Coding, CString)>,
    /// The file itself, then one place for each neighbour.
    kept: RefCell<Vec<Option<Known>>>,
    /// The system had to read from the disk what is at this path, so nothing of the file can be in memory.
    cold: Cell<bool>,
    /// Nobody has served a file of this folder yet, and the way there is to be made ready first.
    waits: Cell<bool>,
    validity: OnceCell<Rc<CacheValidity>>,
    /// Which coding its clients get.
    pub codings: Decided,
}

/// The representation for requests that asked for this coding.
#[derive(Debug)]
struct Known {
    asked: Option<Coding>,
    resource: Rc<Resource>,
}

impl FileTarget {
    /// `look` says what is at a path, and may note that it was asked.
    pub fn new(path: CString, stat: &Stat, look: impl Fn(&[u8]) -> Option<Stat>) -> FileTarget {
        let neighbours = Coding::ALL
            .into_iter()
            .filter_map(|coding| Some((coding, neighbour(&path, stat, coding, &look)?)))
            .collect();
        FileTarget {
            path,
            identity: Identity::of(stat),
            neighbours,
            kept: RefCell::default(),
            cold: Cell::new(false),
            waits: Cell::new(false),
            validity: OnceCell::new(),
            codings: Decided::default(),
        }
    }

    /// Notes what tells when the file changes; `None`: nothing does.
    pub fn depend_on(&self, validity: Option<Rc<CacheValidity>>) {
        if let Some(validity) = validity {
            // A target gets its validity once, when it is made.
            let _ = self.validity.set(validity);
        }
    }

    pub fn wait_for_watch(&self) {
        self.waits.set(true);
    }

    /// Whether it is to be found again once its folder can be watched.
    pub fn waits_for_watch(&self) -> bool {
        self.waits.get()
    }

    /// Its first reader need not look for it in the page cache.
    pub fn begin_cold(&self) {
        self.cold.set(true);
    }

    /// Whether nothing has changed since the file was routed. `None`: nobody watches.
    pub fn holds(&self) -> Option<bool> {
        self.validity.get().map(|validity| validity.holds())
    }

    /// For what no watch tells: pages written through a mapping, something mounted over a folder.
    pub fn is_unchanged(&self) -> bool {
        rustix::fs::stat(self.path.as_c_str())
            .is_ok_and(|stat| Identity::of(&stat) == self.identity)
    }

    /// Takes over what an earlier target of the same file has in memory.
    pub fn inherit(&self, other: &FileTarget) {
        let is_same = self.path == other.path && self.neighbours == other.neighbours;
        // What has fallen may have changed within the grain of the file's times.
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

    /// The file, or its neighbour, as it is now.
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
        let known = Known {
            asked: coding,
            resource: resource.clone(),
        };
        kept[place] = Some(known);
        Ok(resource)
    }

    /// Which representation is to be sent, and what `stat` says of it: the neighbour unless it has
    /// become older than the file.
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
        Resource::load(
            path,
            coding,
            (own_coding, self.has_neighbours()),
            media_type.as_deref(),
            (files, self.cold.take()),
        )
    }

    /// Bytes of file content held.
    pub fn weight(&self) -> usize {
        let kept = self.kept.borrow();
        kept.iter()
            .flatten()
            .map(|known| known.resource.body().len())
            .sum()
    }

    /// Called by the sweep: closes files that nobody has asked for since it was last called. With `forget`, what is in
    /// memory and was not asked for goes as well.
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

/// `path` with the coding's suffix, when that is a file not older than the original.
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

/// What `look` says of a neighbour that is a file and not older than the original.
fn fresh(
    neighbour: &CString,
    original: &Stat,
    look: impl Fn(&[u8]) -> Option<Stat>,
) -> Option<Stat> {
    let stat = look(neighbour.as_bytes())?;
    let age = |stat: &Stat| (stat.st_mtime, stat.st_mtime_nsec);
    (is_file(&stat) && age(&stat) >= age(original)).then_some(stat)
}
