//! One representation of a file: the identity, the header lines, and the bytes of a small file. A
//! [`super::FileTarget`] keeps resources.

use super::body::FileBody;
use super::files::KeptFile;
use super::stretch::Stretches;
use super::Files;
use crate::content::page_cache::read_resident;
use crate::content::stat::{is_device, is_file};
use crate::content::variants::Beside;
use bytes::Bytes;
use http::HeaderMap;
use mehari_config::{etag_part, Coding};
use mehari_http::condition::Representation;
use mehari_http::header_block;
use mehari_http::problem::Problem;
use mehari_http::range::RangeSource;
use rustix::fs::{Mode, OFlags, Stat};
use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::CString;
use std::fs::File;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The room for fields in a usual response.
const FIELDS: usize = 12;
/// The size in bytes of the largest file that is kept in memory.
const SMALL: u64 = 64 * 1024;
pub const GONE: Problem = Problem::refused(404, "the file is gone");
const FORBIDDEN: Problem = Problem::refused(403, "the file may not be read");

/// Identifies a version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: i128,
    /// The change time in nanoseconds. A file that is copied over another with the old times has a
    /// new change time.
    changed: i128,
}

impl Identity {
    /// Returns the entity tag of the file without a coding, of these parts
    /// ([`mehari_config::etag_part`]).
    pub fn etag(&self, parts: u8) -> String {
        etag(self, parts, None)
    }

    pub fn of(stat: &Stat) -> Identity {
        let nanoseconds =
            |seconds: i64, rest: u64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Identity {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size as u64,
            modified: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec),
            changed: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec),
        }
    }
}

impl Identity {
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// A file to load, with the properties that the file's name and the configuration give.
#[derive(Debug, Clone)]
pub struct Description<'a> {
    pub path: &'a CString,
    /// The content coding, if the file is a compressed form of another file.
    pub coding: Option<Coding>,
    /// The content coding in the file's own name, if the file is requested itself.
    pub own_coding: Option<&'a str>,
    /// The value of Content-Language.
    pub language: Option<String>,
    /// Whether compressed forms of the file lie beside it.
    pub varies: bool,
    pub media_type: Option<&'a str>,
    /// The parts of the entity tag ([`mehari_config::etag_part`]).
    pub etag_parts: u8,
    /// Whether clients may ask for ranges of the file.
    pub has_ranges: bool,
    /// Whether the file's metadata had to be read from the disk.
    pub is_cold: bool,
}

#[derive(Debug)]
pub struct Resource {
    path: CString,
    identity: Identity,
    lines: Vec<u8>,
    /// The header fields for HTTP/2, made at the first use.
    fields: OnceCell<HeaderMap>,
    validators: std::ops::Range<usize>,
    media_type: Option<String>,
    language: Option<String>,
    /// The coding that the file's name says.
    own_coding: Option<String>,
    etag_parts: u8,
    /// Empty: the file has no entity tag.
    etag: String,
    coded: bool,
    /// The body of a small file, once the file has been read.
    body: OnceCell<Bytes>,
    /// The open file, if the bytes are not in memory.
    open: RefCell<Option<KeptFile>>,
    used: Cell<bool>,
    /// Whether the page cache probably holds nothing of the file.
    cold: Cell<bool>,
    pub stretches: Stretches,
    pub variants: Beside,
}

impl Resource {
    pub fn load(description: Description<'_>, files: &Files) -> Result<Resource, Problem> {
        let Description {
            path,
            coding,
            own_coding,
            language,
            varies,
            media_type,
            etag_parts,
            has_ranges,
            is_cold,
        } = description;
        let file = open(path)?;
        let stat = rustix::fs::fstat(&file).map_err(|_| GONE)?;
        let is_empty = is_device(&stat);
        if !is_file(&stat) && !is_empty {
            return Err(FORBIDDEN);
        }
        let identity = Identity::of(&stat);
        let mut resource = Resource {
            path: path.clone(),
            identity,
            lines: Vec::new(),
            fields: OnceCell::new(),
            validators: 0..0,
            media_type: media_type.map(str::to_string),
            language,
            own_coding: own_coding.map(str::to_string),
            etag_parts,
            etag: etag(&identity, etag_parts, coding),
            coded: coding.is_some() || own_coding.is_some(),
            body: OnceCell::new(),
            open: RefCell::default(),
            used: Cell::new(true),
            cold: Cell::new(is_cold),
            stretches: Stretches::default(),
            variants: Beside::default(),
        };
        resource.write_lines(coding.map(Coding::name).or(own_coding), varies);
        let unit = if has_ranges { "bytes" } else { "none" };
        let accepted = format!("Accept-Ranges: {unit}\r\n");
        resource.lines.extend_from_slice(accepted.as_bytes());
        if is_empty {
            // A device is not read. It is empty, as in Apache.
            resource.fill(Vec::new());
        } else if !is_cold {
            resource.read(&file);
        }
        if !resource.is_cached() {
            resource.open = RefCell::new(files.keep(&Arc::new(file)));
        }
        Ok(resource)
    }

    fn write_lines(&mut self, coding: Option<&str>, varies: bool) {
        let mut lines = String::new();
        let modified = httpdate::fmt_http_date(self.modified());
        lines += &format!("Last-Modified: {modified}\r\n");
        if !self.etag.is_empty() {
            lines += &format!("ETag: {}\r\n", self.etag);
        }
        if varies {
            lines += "Vary: Accept-Encoding\r\n";
        }
        self.validators = 0..lines.len();
        if let Some(media_type) = &self.media_type {
            lines += &format!("Content-Type: {media_type}\r\n");
        }
        if let Some(language) = &self.language {
            lines += &format!("Content-Language: {language}\r\n");
        }
        if let Some(coding) = coding {
            lines += &format!("Content-Encoding: {coding}\r\n");
        }
        self.lines = lines.into_bytes();
    }

    /// Reads a small file into memory if the page cache holds it.
    fn read(&self, file: &File) {
        if self.identity.size > SMALL {
            return;
        }
        let size = self.identity.size as usize;
        let mut bytes = Vec::with_capacity(size);
        if let Ok(Some(_)) = read_resident(file, 0, size, &mut bytes) {
            self.fill(bytes);
        }
    }

    /// Keeps the bytes of a small file. If their number differs from the file's size, the file
    /// changed while it was read, and nothing is kept.
    pub fn fill(&self, bytes: Vec<u8>) {
        if bytes.len() as u64 == self.identity.size && self.is_small() {
            // Another reader may have set the same bytes.
            let _ = self.body.set(bytes.into());
            self.open.take();
        }
    }

    pub fn is_small(&self) -> bool {
        self.identity.size <= SMALL
    }

    /// Returns the representation with which conditional fields are compared.
    pub fn representation(&self) -> Representation<'_> {
        Representation {
            etag: self.etag().as_bytes(),
            modified: self.modified(),
            size: self.size(),
        }
    }

    /// Returns the representation from which ranges are sent.
    pub fn range_source(&self) -> RangeSource<'_> {
        RangeSource {
            size: self.size(),
            etag: self.etag(),
            media_type: self.media_type(),
            lines: self.lines(),
        }
    }

    /// Returns the representation of the file in a coding that the server makes. `body`: the
    /// compressed bytes, if they are few enough to be kept.
    pub fn coded(&self, coding: Coding, body: Option<Bytes>) -> Resource {
        let mut coded = Resource {
            path: self.path.clone(),
            identity: self.identity,
            lines: Vec::new(),
            fields: OnceCell::new(),
            validators: 0..0,
            media_type: self.media_type.clone(),
            language: self.language.clone(),
            own_coding: None,
            etag_parts: self.etag_parts,
            etag: etag(&self.identity, self.etag_parts, Some(coding)),
            coded: true,
            body: body.map(OnceCell::from).unwrap_or_default(),
            open: RefCell::default(),
            used: Cell::default(),
            cold: Cell::new(false),
            stretches: Stretches::default(),
            variants: Beside::default(),
        };
        // Ranges are sent from the uncompressed file only.
        coded.write_lines(Some(coding.name()), true);
        coded
    }

    /// Returns whether the bytes have a content coding.
    pub fn is_coded(&self) -> bool {
        self.coded
    }

    pub fn language(&self) -> Option<&str> {
        self.language.as_deref()
    }

    /// The coding that the file's name says.
    pub fn own_coding(&self) -> Option<&str> {
        self.own_coding.as_deref()
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

    /// Returns the header fields for HTTP/2.
    pub fn fields(&self) -> &HeaderMap {
        self.fields.get_or_init(|| {
            let mut fields = HeaderMap::with_capacity(FIELDS);
            header_block::push_fields(&mut fields, &self.lines);
            fields
        })
    }

    /// Returns the lines Last-Modified, ETag and Vary.
    pub fn validators(&self) -> &[u8] {
        &self.lines[self.validators.clone()]
    }

    pub fn is_cached(&self) -> bool {
        self.body.get().is_some()
    }

    /// Returns the bytes, which are shared and not copied. Empty if the bytes are not in memory.
    pub fn bytes(&self) -> Bytes {
        self.body.get().cloned().unwrap_or_default()
    }

    pub fn body(&self) -> &[u8] {
        self.body.get().map(|body| &body[..]).unwrap_or_default()
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

    /// Returns the modification time in whole seconds, never later than now (RFC 9110 section
    /// 8.8.2.1).
    pub fn modified(&self) -> SystemTime {
        let seconds = self.identity.modified.div_euclid(1_000_000_000);
        let seconds = u64::try_from(seconds).unwrap_or(0);
        let written = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        written.unwrap_or(UNIX_EPOCH).min(SystemTime::now())
    }

    /// Returns the whole file as a body.
    pub fn whole(self: &Rc<Resource>, files: &Files) -> Result<FileBody, Problem> {
        let file = self.open(files)?;
        Ok(FileBody::of(file, self.clone(), files))
    }

    /// Opens the file, or returns the kept open file. A file of another version is an error.
    pub fn open(&self, files: &Files) -> Result<Arc<File>, Problem> {
        if let Some(kept) = &*self.open.borrow() {
            return Ok(kept.file.clone());
        }
        let file = open(&self.path)?;
        let stat = rustix::fs::fstat(&file).map_err(|_| GONE)?;
        if Identity::of(&stat) != self.identity {
            return Err(Problem::refused(503, "the file changed during the request"));
        }
        let file = Arc::new(file);
        if !self.is_cached() {
            self.open.replace(files.keep(&file));
        }
        Ok(file)
    }

    /// Returns, but only once, whether the page cache probably holds nothing of the file.
    pub fn begins_cold(&self) -> bool {
        self.cold.take()
    }

    pub fn use_it(&self) {
        self.used.set(true);
    }

    /// Closes the file if it was not used since the last call. Returns whether it was closed.
    pub fn rest(&self) -> bool {
        let unused = !self.used.replace(false);
        if unused {
            self.open.take();
        }
        unused
    }
}

/// Opens a file. NONBLOCK: a FIFO in the file's place must not block the event loop.
fn open(path: &CString) -> Result<File, Problem> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    rustix::fs::open(path.as_c_str(), flags, Mode::empty())
        .map(File::from)
        .map_err(|error| match error {
            rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => GONE,
            _ => FORBIDDEN,
        })
}

/// Returns the entity tag that Apache makes of these parts: inode number, size, and modification
/// time in microseconds. Empty without parts.
fn etag(identity: &Identity, parts: u8, coding: Option<Coding>) -> String {
    let has = |part: u8| parts & part != 0;
    let microseconds = identity.modified.div_euclid(1000) as u64;
    let values = [
        (etag_part::INODE, identity.inode),
        (etag_part::SIZE, identity.size),
        (etag_part::MODIFIED, microseconds),
    ];
    let words = values.iter().filter(|(part, _)| has(*part));
    let mut words: Vec<String> = words.map(|(_, value)| format!("{value:x}")).collect();
    if words.is_empty() {
        return String::new();
    }
    words.extend(coding.map(|coding| coding.name().to_string()));
    format!("\"{}\"", words.join("-"))
}
