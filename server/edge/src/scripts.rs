//! Keeps the compiled scripts by file. A file is checked again a second after the last check. A
//! changed file is read again.

use crate::failure::Failure;
use crate::runner::Runner;
use mlua::{ChunkMode, Function, Lua};
use std::cell::{Cell, RefCell};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// The longest time until a change of a file is noticed.
const LIFE: Duration = Duration::from_secs(1);
/// The longest file in bytes. A longer file is refused.
const LONGEST: u64 = 1024 * 1024;
/// The number of idle coroutines kept for each script.
const KEPT: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The length of a script's runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Length {
    /// The last run has ended within its first slice.
    #[default]
    Short,
    /// The last run has taken several slices.
    Long,
    /// The script uses counters, so it belongs to the interpreter that keeps them.
    Counting,
}

pub struct Script {
    identity: Identity,
    looked: Cell<Duration>,
    name: String,
    code: Vec<u8>,
    /// Whether the script's code uses global variables. `None` before the first analysis. The
    /// result is kept because the analysis reads the whole code.
    reaches: Cell<Option<bool>>,
    /// What the last run has shown about where the next run belongs.
    pub length: Cell<Length>,
    /// Idle coroutines. A Lua function has only one environment, so each simultaneous run needs its
    /// own coroutine. The boxes move between this list and the runs.
    #[allow(clippy::vec_box)]
    free: RefCell<Vec<Box<Runner>>>,
}

#[derive(Default)]
pub struct Scripts {
    /// Frequently used scripts come first.
    known: RefCell<Vec<(PathBuf, Rc<Script>)>>,
}

impl Scripts {
    /// Returns the script of a file, as it was at most a second ago. `now` is the caller's clock.
    ///
    /// # Errors
    ///
    /// The failure to read or compile the script.
    pub fn script(&self, lua: &Lua, file: &Path, now: Duration) -> Result<Rc<Script>, Failure> {
        let known = self.known(file);
        if let Some(known) = &known {
            if now < known.looked.get() + LIFE {
                return Ok(known.clone());
            }
        }
        let (open, identity) = open(file).map_err(|error| unreadable(file, &error))?;
        match known {
            Some(known) if known.identity == identity => {
                known.looked.set(now);
                Ok(known)
            }
            _ => {
                let script = Rc::new(compile(lua, file, open, identity, now)?);
                let mut known = self.known.borrow_mut();
                known.retain(|(known, _)| known != file);
                known.push((file.to_path_buf(), script.clone()));
                Ok(script)
            }
        }
    }

    fn known(&self, file: &Path) -> Option<Rc<Script>> {
        let mut known = self.known.borrow_mut();
        let mut files = known.iter().map(|(file, _)| file.as_os_str());
        let at = files.position(|known| known == file.as_os_str())?;
        if at > 0 {
            known.swap(at - 1, at);
        }
        Some(known[at.saturating_sub(1)].1.clone())
    }

    /// Forgets all compiled scripts.
    pub fn clear(&self) {
        self.known.borrow_mut().clear();
    }
}

impl Script {
    /// Returns an idle coroutine, or a new coroutine that `make` prepares.
    ///
    /// # Errors
    ///
    /// Lua's error if there is no memory.
    pub fn take(&self, lua: &Lua, make: &Function) -> mlua::Result<Box<Runner>> {
        if let Some(runner) = self.free.borrow_mut().pop() {
            return Ok(runner);
        }
        let function = load(lua, &self.name, &self.code, ChunkMode::Binary)?;
        let (body, reaches) = make.call((function, self.reaches.get()))?;
        self.reaches.set(Some(reaches));
        Runner::new(lua, body).map(Box::new)
    }

    pub fn file(&self) -> &str {
        &self.name[1..]
    }

    /// Keeps a coroutine whose run has ended cleanly for another run.
    pub fn give_back(&self, runner: Box<Runner>) {
        let mut free = self.free.borrow_mut();
        if free.len() < KEPT {
            free.push(runner);
        }
    }
}

/// Opens a file without blocking, so that a pipe or a terminal cannot delay the event loop.
fn open(path: &Path) -> io::Result<(File, Identity)> {
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if metadata.len() > LONGEST {
        return Err(io::Error::other("longer than 1 MiB"));
    }
    let identity = Identity {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    };
    Ok((file, identity))
}

fn compile(
    lua: &Lua,
    path: &Path,
    file: File,
    identity: Identity,
    now: Duration,
) -> Result<Script, Failure> {
    let mut source = Vec::new();
    let read = file.take(LONGEST).read_to_end(&mut source);
    read.map_err(|error| unreadable(path, &error))?;
    let name = format!("@{}", path.display());
    let function = load(lua, &name, &source, ChunkMode::Text)
        .map_err(|error| Failure::of_script(&error, path))?;
    Ok(Script {
        identity,
        looked: Cell::new(now),
        name,
        code: function.dump(false),
        reaches: Cell::new(None),
        length: Cell::default(),
        free: RefCell::default(),
    })
}

fn load(lua: &Lua, name: &str, code: &[u8], mode: ChunkMode) -> mlua::Result<Function> {
    lua.load(code).set_name(name).set_mode(mode).into_function()
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure {
        status: 500,
        text: format!("{}: cannot be read: {error}", path.display()),
    }
}
