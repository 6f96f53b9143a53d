//! Finds the interpreter in a process: the addresses of its variables, and the layout of the perl.

use crate::error::ProfileError;
use crate::image::{self, MappedImage, ObjectFile};
use crate::layout::{self, PerlLayout};
use crate::memory::{int, word, ProcessMemory};
use crate::other_perl;
use std::io;
use std::sync::Arc;

/// The addresses of the interpreter's variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterpreterVariables {
    pub op: u64,
    pub statement: u64,
    pub stack_info: u64,
    pub stack: u64,
    /// The number that perl counts up whenever it compiles a block. `None`: it is not exported.
    pub compiled: Option<u64>,
    /// `None`: a perl without several interpreters does not export these variables.
    pub heap: Option<HeapVariables>,
}

/// The addresses of the variables from which all values of an interpreter are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapVariables {
    /// The list of arenas, which hold the heads of all values.
    pub arenas: u64,
    /// The hash of the package `main`, which holds all packages.
    pub packages: u64,
    /// The main program's code.
    pub main: u64,
    /// The table of the keys that hashes share.
    pub keys: u64,
}

/// A process whose interpreter was found.
#[derive(Clone)]
pub struct PerlProcess {
    pub pid: u32,
    pub layout: Arc<PerlLayout>,
    pub op_names: Arc<Vec<String>>,
    /// Whether the process has the server's own modules.
    pub is_ours: bool,
    /// Where our modules keep the current request.
    request: Option<RequestPlace>,
    /// Identifies the perl: the device and inode of its file.
    perl_file: Option<(u64, u64)>,
    /// Identifies the program and its addresses: the first line of the process's maps.
    first_mapping: String,
    pub variables: InterpreterVariables,
    pub memory: ProcessMemory,
}

/// A request's target is not longer than the frame that holds it.
const LONGEST_TARGET: usize = 1 << 20;

/// The addresses with which the current request is found.
#[derive(Debug, Clone, Copy)]
struct RequestPlace {
    /// The address of `mehari_now`.
    now: u64,
    /// The offset in a frame of the span of the request's target.
    target: u64,
}

impl RequestPlace {
    fn of((image, file): &(MappedImage, ObjectFile)) -> Option<RequestPlace> {
        Some(RequestPlace {
            now: image.address(file, "mehari_now")?,
            target: word(&file.contents("mehari_target_at")?, 0),
        })
    }
}

/// The images of a process that the profiler reads.
struct PerlImages {
    perl: MappedImage,
    perl_file: ObjectFile,
    ours: Option<(MappedImage, ObjectFile)>,
}

impl PerlProcess {
    /// Finds the interpreter of a process.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn open(pid: u32) -> Result<PerlProcess, ProfileError> {
        PerlProcess::open_beside(pid, &[])
    }

    /// Finds the interpreter of a process. If a process of `known` runs the same perl, its layout
    /// is used.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn open_beside(pid: u32, known: &[&PerlProcess]) -> Result<PerlProcess, ProfileError> {
        let images = images(pid)?;
        let file = images.perl.file_number();
        let same = known
            .iter()
            .find(|it| file.is_some() && it.perl_file == file);
        let layout = match same {
            Some(same) => same.layout.clone(),
            None => Arc::new(layout_of(pid, &images)?),
        };
        let memory = ProcessMemory::of(pid);
        let variables = variables(pid, &images, &layout, &memory)?;
        Ok(PerlProcess {
            pid,
            op_names: Arc::new(op_names(&images, &memory)),
            layout,
            perl_file: file,
            is_ours: images.ours.is_some(),
            request: images.ours.as_ref().and_then(RequestPlace::of),
            first_mapping: image::first_mapping(pid).unwrap_or_default(),
            variables,
            memory,
        })
    }

    /// Returns the interpreter of a process that this process has forked. `None`: the forked
    /// process runs another program.
    pub fn forked(&self, pid: u32) -> Option<PerlProcess> {
        if image::first_mapping(pid)? != self.first_mapping {
            return None;
        }
        let mut other = self.clone();
        other.pid = pid;
        other.memory = ProcessMemory::of(pid);
        Some(other)
    }

    /// Returns the path and query of the request that the process serves, or has served last.
    pub fn target(&self) -> Option<String> {
        let place = self.request?;
        let mut job = [0; 16]; // the beginning of `mehari_job`: frame and base
        self.memory.read(place.now, &mut job).ok()?;
        let (frame, base) = (word(&job, 0), word(&job, 8));
        let mut span = [0; 8];
        let at = frame.checked_add(place.target)?;
        self.memory.read(at, &mut span).ok()?;
        let (offset, length) = (int(&span, 0) as u32, int(&span, 4) as u32 as usize);
        if length > LONGEST_TARGET {
            return None;
        }
        let mut text = vec![0; length];
        let at = base.checked_add(u64::from(offset))?;
        self.memory.read(at, &mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns the name of an op type, such as `match`.
    pub fn op_name(&self, op: u16) -> Option<&str> {
        self.op_names.get(usize::from(op)).map(String::as_str)
    }
}

/// Converts an error of the kernel about a process.
fn failure(pid: u32, error: &io::Error) -> ProfileError {
    match error.raw_os_error() {
        Some(libc::ESRCH | libc::ENOENT) => ProfileError::NoProcess(pid),
        Some(libc::EPERM | libc::EACCES) => ProfileError::Forbidden(pid),
        _ => ProfileError::NoInterpreter { pid },
    }
}

fn images(pid: u32) -> Result<PerlImages, ProfileError> {
    let all = MappedImage::of_process(pid).map_err(|error| failure(pid, &error))?;
    if all.is_empty() {
        return Err(not_perl(pid));
    }
    let mut found = None;
    let mut ours = None;
    let mut unreadable = None;
    let mut stripped = None;
    for image in all {
        let file_name = image.name.rsplit('/').next().unwrap_or_default();
        let may_be_perl = file_name.contains("perl") || found.is_none() && stripped.is_none();
        if image.name.ends_with("/auto/Mehari/Mehari.so") {
            ours = image.open().ok().map(|file| (image, file));
        } else if found.is_none() && may_be_perl && !file_name.ends_with(".pl") {
            match image.open() {
                Ok(file) if has_interpreter(&image, &file) => found = Some((image, file)),
                Ok(_) if looks_like_perl(file_name) => stripped = Some(image.name),
                Ok(_) => {}
                Err(cause) => unreadable = Some((image.name, cause)),
            }
        }
    }
    match (found, stripped, unreadable) {
        (Some((perl, perl_file)), _, _) => Ok(PerlImages {
            perl,
            perl_file,
            ours,
        }),
        (None, Some(file), _) => Err(ProfileError::NoSymbol {
            pid,
            file,
            symbol: "PL_curinterp",
        }),
        (None, None, Some((file, cause))) => Err(ProfileError::Unreadable {
            pid,
            file,
            cause: cause.to_string(),
        }),
        (None, None, None) => Err(not_perl(pid)),
    }
}

fn has_interpreter(image: &MappedImage, file: &ObjectFile) -> bool {
    ["PL_curinterp", "PL_curstackinfo"]
        .iter()
        .any(|symbol| image.address(file, symbol).is_some())
}

/// Returns whether a file name is that of a perl: `perl`, `perl5.36.0`, `libperl.so.5.36`,
/// `debugperl`.
fn looks_like_perl(file_name: &str) -> bool {
    let stem = file_name.split(".so").next().unwrap_or_default();
    let stem =
        stem.trim_end_matches(|mark: char| mark.is_ascii_digit() || matches!(mark, '.' | '-'));
    matches!(stem, "perl" | "libperl" | "debugperl")
}

fn not_perl(pid: u32) -> ProfileError {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name = match name.trim_end() {
        "" => "unknown".to_owned(),
        name => name.escape_default().to_string(),
    };
    ProfileError::NotPerl { pid, name }
}

/// Returns the layout of a process's perl. Mehari's module contains the table of the perl for which
/// the module was built. For a process without this module, the table is compiled with the headers
/// of the process's perl.
fn layout_of(pid: u32, images: &PerlImages) -> Result<PerlLayout, ProfileError> {
    let own = images.ours.as_ref().and_then(|(_, file)| {
        let (table, op) = (
            file.contents(layout::TABLE)?,
            file.contents(layout::FULL_OP)?,
        );
        PerlLayout::parse(&table, &op).ok()
    });
    let layout = match own {
        Some(layout) => Ok(layout),
        None => other_perl::layout(pid, &images.perl.name),
    };
    let layout = layout.and_then(|layout| same_version(layout, images));
    layout.map_err(|reason| ProfileError::NoLayout { pid, reason })
}

/// Refuses a table that was made for another version of perl than the process runs.
fn same_version(layout: PerlLayout, images: &PerlImages) -> Result<PerlLayout, String> {
    let byte = |symbol| {
        let bytes = images.perl_file.contents(symbol)?;
        bytes.first().map(|&byte| usize::from(byte))
    };
    let (Some(major), Some(minor), Some(patch)) = (
        byte("PL_revision"),
        byte("PL_version"),
        byte("PL_subversion"),
    ) else {
        return Ok(layout);
    };
    if (major, minor, patch) == layout.version_parts() {
        return Ok(layout);
    }
    Err(format!(
        "it is perl {major}.{minor}.{patch} and the headers found are those of {}",
        layout.version_text()
    ))
}

fn variables(
    pid: u32,
    images: &PerlImages,
    layout: &PerlLayout,
    memory: &ProcessMemory,
) -> Result<InterpreterVariables, ProfileError> {
    let address = |symbol: &'static str| {
        let found = images.perl.address(&images.perl_file, symbol);
        found.ok_or_else(|| ProfileError::NoSymbol {
            pid,
            file: images.perl.name.clone(),
            symbol,
        })
    };
    if layout.multiplicity == 0 {
        return Ok(InterpreterVariables {
            op: address("PL_op")?,
            statement: address("PL_curcop")?,
            stack_info: address("PL_curstackinfo")?,
            stack: address("PL_stack_sp")?,
            compiled: images.perl.address(&images.perl_file, "PL_cop_seqmax"),
            heap: exported_heap(images),
        });
    }
    let at = memory
        .number(address("PL_curinterp")?)
        .map_err(|error| failure(pid, &error))?;
    if at == 0 {
        return Err(ProfileError::NoInterpreter { pid });
    }
    Ok(InterpreterVariables {
        op: at + layout.interpreter_op as u64,
        statement: at + layout.interpreter_statement as u64,
        stack_info: at + layout.interpreter_stack_info as u64,
        stack: at + layout.interpreter_stack as u64,
        compiled: Some(at + layout.interpreter_compiled as u64),
        heap: Some(HeapVariables {
            arenas: at + layout.interpreter_arenas as u64,
            packages: at + layout.interpreter_packages as u64,
            main: at + layout.interpreter_main as u64,
            keys: at + layout.interpreter_keys as u64,
        }),
    })
}

fn exported_heap(images: &PerlImages) -> Option<HeapVariables> {
    let address = |symbol| images.perl.address(&images.perl_file, symbol);
    Some(HeapVariables {
        arenas: address("PL_sv_arenaroot")?,
        packages: address("PL_defstash")?,
        main: address("PL_main_cv")?,
        keys: address("PL_strtab")?,
    })
}

/// The most types of ops that a perl can have. The type has nine bits.
const MOST_OPS: u64 = 512;

/// Reads perl's own table of names. Empty if there is none.
fn op_names(images: &PerlImages, memory: &ProcessMemory) -> Vec<String> {
    let symbol = "PL_op_name";
    let size = images
        .perl_file
        .contents(symbol)
        .map_or(0, |bytes| bytes.len() as u64);
    let Some(table) = images.perl.address(&images.perl_file, symbol) else {
        return Vec::new();
    };
    let count = (size / 8).min(MOST_OPS);
    let name = |index: u64| memory.text(memory.number(table + 8 * index)?, 40);
    let names = (0..count).map(|index| name(index).unwrap_or_default());
    names
        .map(|name| String::from_utf8_lossy(&name).into_owned())
        .collect()
}
