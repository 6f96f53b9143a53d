//! One representation of a file: what `stat` says of it, its header lines, and its bytes if they are few.
//!
//! A [`FileTarget`] belongs to a route and keeps its resources; each request costs one `stat`, which
//! decides whether what is kept is still the file.

use super::encoding::Coding;
use super::media;
use crate::lines;
use crate::problem::Problem;
use crate::route::is_file;
use bytes::Bytes;
use http::HeaderMap;
use mehari_config::Settings;
use rustix::fs::{Mode, OFlags, Stat};
use std::cell::{OnceCell, RefCell};
use std::ffi::CString;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Room for a response's, those too that are not the file's.
const FIELDS: usize = 12;
/// Files up to this size are kept in memory.
const SMALL: u64 = 64 * 1024;
const ACCEPT_RANGES: &str = "Accept-Ranges: bytes\r\n";
pub const GONE: Problem = Problem::refused(404, "the file is gone");
const FORBIDDEN: Problem = Problem::refused(403, "the file may not be read");

/// What must be equal for a file to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: i128,
}

impl Identity {
    /// Of the file itself, without a coding.
    pub fn etag(&self) -> String {
        etag(self, None)
    }

    pub fn of(stat: &Stat) -> Identity {
        Identity {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size as u64,
            modified: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
        }
    }
}

#[derive(Debug)]
pub struct FileTarget {
    path: CString,
    /// Neighbours that were there, and not older, when the file was routed.
    neighbours: Vec<(Coding, CString)>,
    /// The file itself, then one place for each neighbour.
    kept: RefCell<Vec<Option<Known>>>,
}

/// A representation that was right in `round`, for requests that asked for this coding.
#[derive(Debug)]
struct Known {
    asked: Option<Coding>,
    round: u64,
    resource: Rc<Resource>,
}

#[derive(Debug)]
pub struct Resource {
    path: CString,
    identity: Identity,
    lines: Vec<u8>,
    /// The same for HTTP/2, once it is asked for.
    fields: OnceCell<HeaderMap>,
    validators: std::ops::Range<usize>,
    media_type: Option<String>,
    etag: String,
    coded: bool,
    body: Option<Bytes>,
}

impl Identity {
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl FileTarget {
    pub fn new(path: CString, stat: &Stat) -> FileTarget {
        let neighbours = Coding::ALL
            .into_iter()
            .filter_map(|coding| Some((coding, neighbour(&path, stat, coding)?)))
            .collect();
        FileTarget {
            path,
            neighbours,
            kept: RefCell::default(),
        }
    }

    /// Takes over what an earlier target of the same file has in memory.
    pub fn inherit(&self, other: &FileTarget) {
        if self.path == other.path && self.neighbours == other.neighbours {
            self.kept.replace(other.kept.take());
        }
    }

    pub fn has_neighbours(&self) -> bool {
        !self.neighbours.is_empty()
    }

    pub fn has_neighbour(&self, coding: Coding) -> bool {
        self.neighbours.iter().any(|(known, _)| *known == coding)
    }

    /// The file, or its neighbour, as it is in this round of the loop.
    pub fn resource(
        &self,
        coding: Option<Coding>,
        settings: &Settings,
        round: u64,
    ) -> Result<Rc<Resource>, Problem> {
        let mut kept = self.kept.borrow_mut();
        kept.resize_with(self.neighbours.len() + 1, || None);
        let known = kept.iter().flatten().find(|known| known.asked == coding);
        if let Some(known) = known.filter(|known| known.round == round) {
            return Ok(known.resource.clone());
        }
        let (place, identity) = self.look(coding)?;
        let resource = match &kept[place] {
            Some(known) if known.resource.identity == identity => known.resource.clone(),
            _ => Rc::new(self.load(place, settings)?),
        };
        let known = Known {
            asked: coding,
            round,
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
            if let Some(beside) = fresh(&self.neighbours[at].1, &stat) {
                return Ok((at + 1, Identity::of(&beside)));
            }
        }
        Ok((0, Identity::of(&stat)))
    }

    fn load(&self, place: usize, settings: &Settings) -> Result<Resource, Problem> {
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
            own_coding,
            self.has_neighbours(),
            media_type.as_deref(),
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
}

/// `path` with the coding's suffix, when that is a file not older than the original.
fn neighbour(path: &CString, original: &Stat, coding: Coding) -> Option<CString> {
    let mut name = path.as_bytes().to_vec();
    name.extend_from_slice(coding.suffix().as_bytes());
    let name = CString::new(name).ok()?;
    fresh(&name, original).map(|_| name)
}

/// What `stat` says of a neighbour that is a file and not older than the original.
fn fresh(neighbour: &CString, original: &Stat) -> Option<Stat> {
    let stat = rustix::fs::stat(neighbour.as_c_str()).ok()?;
    let age = |stat: &Stat| (stat.st_mtime, stat.st_mtime_nsec);
    (is_file(&stat) && age(&stat) >= age(original)).then_some(stat)
}

impl Resource {
    fn load(
        path: &CString,
        coding: Option<Coding>,
        own_coding: Option<&str>,
        varies: bool,
        media_type: Option<&str>,
    ) -> Result<Resource, Problem> {
        let mut file = open(path)?;
        let stat = rustix::fs::fstat(&file).map_err(|_| GONE)?;
        if !is_file(&stat) {
            return Err(FORBIDDEN);
        }
        let identity = Identity::of(&stat);
        let mut body = None;
        if identity.size <= SMALL {
            let mut bytes = Vec::with_capacity(identity.size as usize);
            let read = (&mut file).take(identity.size).read_to_end(&mut bytes);
            read.map_err(|_| FORBIDDEN)?;
            // A file that changes while it is read is not kept: its size and its bytes disagree.
            body = (bytes.len() as u64 == identity.size).then(|| bytes.into());
        }
        let mut resource = Resource {
            path: path.clone(),
            identity,
            lines: Vec::new(),
            fields: OnceCell::new(),
            validators: 0..0,
            media_type: media_type.map(str::to_string),
            etag: etag(&identity, coding),
            coded: coding.is_some() || own_coding.is_some(),
            body,
        };
        resource.write_lines(coding.map(Coding::name).or(own_coding), varies);
        Ok(resource)
    }

    fn write_lines(&mut self, coding: Option<&str>, varies: bool) {
        let mut lines = String::new();
        let modified = httpdate::fmt_http_date(self.modified());
        lines += &format!("Last-Modified: {modified}\r\nETag: {}\r\n", self.etag);
        if varies {
            lines += "Vary: Accept-Encoding\r\n";
        }
        self.validators = 0..lines.len();
        if let Some(media_type) = &self.media_type {
            lines += &format!("Content-Type: {media_type}\r\n");
        }
        if let Some(coding) = coding {
            lines += &format!("Content-Encoding: {coding}\r\n");
        }
        lines += ACCEPT_RANGES;
        self.lines = lines.into_bytes();
    }

    /// The same file in a coding that the server makes itself; the bytes, if they are few enough to be kept here.
    pub fn coded(&self, coding: Coding, body: Option<Bytes>) -> Resource {
        let mut coded = Resource {
            path: self.path.clone(),
            identity: self.identity,
            lines: Vec::new(),
            fields: OnceCell::new(),
            validators: 0..0,
            media_type: self.media_type.clone(),
            etag: etag(&self.identity, Some(coding)),
            coded: true,
            body,
        };
        coded.write_lines(Some(coding.name()), true);
        // Parts are sent of the plain file only.
        coded
            .lines
            .truncate(coded.lines.len() - ACCEPT_RANGES.len());
        coded
    }

    /// Whether its bytes have a content coding.
    pub fn is_coded(&self) -> bool {
        self.coded
    }

    pub fn path(&self) -> &[u8] {
        self.path.as_bytes()
    }

    pub fn identity(&self) -> Identity {
        self.identity
    }

    pub fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// The lines as HTTP/2 has them.
    pub fn fields(&self) -> &HeaderMap {
        self.fields.get_or_init(|| {
            let mut fields = HeaderMap::with_capacity(FIELDS);
            let pushed = lines::push_fields(&mut fields, &self.lines);
            debug_assert!(pushed.is_ok(), "lines that we wrote ourselves");
            fields
        })
    }

    /// Last-Modified, ETag and Vary.
    pub fn validators(&self) -> &[u8] {
        &self.lines[self.validators.clone()]
    }

    pub fn is_cached(&self) -> bool {
        self.body.is_some()
    }

    /// Shared, not copied.
    pub fn bytes(&self) -> Bytes {
        self.body.clone().unwrap_or_default()
    }

    pub fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    pub fn size(&self) -> u64 {
        self.identity.size
    }

    pub fn etag(&self) -> &str {
        &self.etag
    }

    pub fn media_type(&self) -> Option<&str> {
        self.media_type.as_deref()
    }

    /// Never later than now, as RFC 9110 section 8.8.2.1 wants; whole seconds.
    pub fn modified(&self) -> SystemTime {
        let seconds = self.identity.modified.div_euclid(1_000_000_000);
        let seconds = u64::try_from(seconds).unwrap_or(0);
        let written = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        written.unwrap_or(UNIX_EPOCH).min(SystemTime::now())
    }

    /// The file, if it is still the one this resource describes.
    pub fn open(&self) -> Result<File, Problem> {
        let file = open(&self.path)?;
        let stat = rustix::fs::fstat(&file).map_err(|_| GONE)?;
        match Identity::of(&stat) == self.identity {
            true => Ok(file),
            false => Err(Problem::refused(
                503,
                "the file changed while it was asked for",
            )),
        }
    }
}

/// NONBLOCK: a FIFO put in the file's place must not stop the loop.
fn open(path: &CString) -> Result<File, Problem> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    rustix::fs::open(path.as_c_str(), flags, Mode::empty())
        .map(File::from)
        .map_err(|error| match error {
            rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => GONE,
            _ => FORBIDDEN,
        })
}

/// Strong: equal only for the same file with the same time in nanoseconds. Hashed, so it does not tell the inode.
fn etag(identity: &Identity, coding: Option<Coding>) -> String {
    let mut low = DefaultHasher::new();
    identity.hash(&mut low);
    let coding = coding.map_or("", Coding::name);
    let dash = if coding.is_empty() { "" } else { "-" };
    format!(
        "\"{:x}-{:016x}{dash}{coding}\"",
        identity.size,
        low.finish()
    )
}
