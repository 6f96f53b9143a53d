//! Holds the Lua state and limits how many instructions and how much memory a slice of a script may
//! take.
//!
//! A hook counts instructions and yields from the running coroutine, so that the thread can do
//! other work between two slices. The allocator counts bytes. It calls the hook early when a script
//! moves many bytes, because a few instructions can copy megabytes. If instructions take long for
//! another reason, `hook_interval` makes the hook run sooner.
//!
//! A script is charged for reachable memory only: above the limit, the hook first collects garbage.
//! LuaJIT's compiler is off, because compiled loops call no hooks.
#![allow(unsafe_code)] // C interface of hook and allocator; mlua cannot yield from LuaJIT's hook

use crate::hook_interval::{self, Pace, Tempo};
use crate::native::NO_MEMORY;
use mlua::ffi::{self, lua_Debug, lua_State};
use mlua::{Lua, Result, Table};
use std::ffi::{c_int, c_void};
use std::ptr;

/// The number of instructions in a slice.
const SLICE: i64 = 10_000;
/// The number of instructions until the first call of the hook. Most scripts end before that call.
const BEGINNING: i64 = 150;
/// The number of bytes that a slice may allocate, regardless of freed bytes.
const SLICE_BYTES: usize = 1024 * 1024;
/// A run that allocates fewer bytes than this is small.
const SMALL: usize = 64 * 1024;
/// The amount of garbage in KiB to collect after a slice that allocates [`SLICE_BYTES`].
const COLLECTED: c_int = 1024;

extern "C-unwind" {
    /// LuaJIT has this function, but mlua's bindings of LuaJIT lack it.
    fn lua_isyieldable(state: *mut lua_State) -> c_int;
}

/// The instructions and bytes that a run has left.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    instructions: i64,
    bytes: isize,
    /// The bytes that the run had left at its start. Collecting the garbage of other runs does not
    /// raise `bytes` above this value.
    most: isize,
    begun: bool,
    tempo: Tempo,
}

impl Allowance {
    pub fn new(instructions: u64, bytes: usize) -> Allowance {
        let bytes = isize::try_from(bytes).unwrap_or(isize::MAX);
        Allowance {
            instructions: i64::try_from(instructions).unwrap_or(i64::MAX),
            bytes,
            most: bytes,
            begun: false,
            tempo: Tempo::new(BEGINNING),
        }
    }

    fn charge(&mut self, before: isize, after: isize) {
        let left = self.bytes.saturating_sub(after - before);
        self.bytes = left.min(self.most);
    }
}

/// Why a slice ended, in addition to what the coroutine itself reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The script ended or yielded by itself.
    None,
    /// The slice was used up.
    Slice,
    /// The script has used up its instructions.
    Exhausted,
}

struct Meter {
    inner: ffi::lua_Alloc,
    data: *mut c_void,
    /// The number of bytes that the Lua state holds.
    used: isize,
    /// Above this many bytes the hook collects garbage. If the script still holds more bytes
    /// afterwards, the script fails.
    enough: isize,
    /// Above this many bytes the allocator fails.
    most: isize,
    /// Whether the Lua state has exceeded `enough`.
    overflows: bool,
    /// The number of instructions left for the run. The next fields count those left in the slice
    /// and those left until the hook's next call.
    left: i64,
    slice: i64,
    step: i64,
    pace: Pace,
    /// The number of bytes until the allocator calls the hook early. 0 if the allocator has just
    /// done so.
    until_hook: usize,
    broke: Break,
    /// Whether the run is in its first slice.
    is_first: bool,
    state: *mut lua_State,
}

/// The Lua state with its meter, which counts and limits. Both live as long as the process.
pub struct Interpreter {
    lua: Lua,
    meter: *mut Meter,
    is_limited: bool,
}

impl Interpreter {
    /// Makes a state whose scripts are limited and interrupted.
    pub fn limited() -> Result<Interpreter> {
        let interpreter = Interpreter::unlimited()?;
        let jit: Table = interpreter.lua.globals().get("jit")?;
        jit.get::<mlua::Function>("off")?.call::<()>(())?;
        Ok(Interpreter {
            is_limited: true,
            ..interpreter
        })
    }

    /// Makes a state with all Lua libraries and without interruptions.
    pub fn unlimited() -> Result<Interpreter> {
        // SAFETY: this is a fresh state from LuaJIT, and its own allocator works behind `allocate`.
        // State and meter are never freed, because handles of scripts may outlive `self`, and a
        // front has one interpreter for its life.
        let (lua, meter) = unsafe {
            let state = ffi::luaL_newstate();
            if state.is_null() {
                return Err(mlua::Error::MemoryError("no Lua state".into()));
            }
            let mut data = ptr::null_mut();
            let inner = ffi::lua_getallocf(state, &mut data);
            let meter = Box::into_raw(Box::new(Meter {
                inner,
                data,
                used: 0,
                enough: isize::MAX,
                most: isize::MAX,
                overflows: false,
                left: 0,
                slice: 0,
                step: 0,
                pace: Pace::new(Tempo::new(BEGINNING)),
                until_hook: usize::MAX,
                broke: Break::None,
                is_first: false,
                state,
            }));
            ffi::lua_setallocf(state, allocate, meter.cast());
            ffi::luaL_openlibs(state);
            (Lua::get_or_init_from_ptr(state).clone(), meter)
        };
        Ok(Interpreter {
            lua,
            meter,
            is_limited: false,
        })
    }

    pub fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// Returns whether the running slice has ended. `world.lua` asks this after it has resumed a
    /// coroutine of the script.
    pub fn is_broken(&self) -> bool {
        // SAFETY: the meter lives forever, and no reference to it is held.
        unsafe { (*self.meter).broke != Break::None }
    }

    /// Returns whether the current run is in its first slice and has allocated little memory.
    pub fn is_first_and_small(&self) -> bool {
        // SAFETY: the meter lives forever, and no reference to it is held.
        unsafe { (*self.meter).is_first && (*self.meter).until_hook > SLICE_BYTES - SMALL }
    }

    pub fn lua(&self) -> &Lua {
        &self.lua
    }

    /// Returns the number of bytes that the Lua state holds.
    pub fn used(&self) -> isize {
        // SAFETY: the meter lives forever, and no reference to it is held.
        unsafe { (*self.meter).used }
    }

    /// Charges for work that the instruction count does not show. A large charge ends the slice.
    pub fn charge(&self, instructions: usize) {
        const MUCH: usize = 1000;
        if !self.is_limited || instructions == 0 {
            return;
        }
        // SAFETY: the meter lives forever, and no reference to it is held. LuaJIT lets the hook be
        // set at any time.
        unsafe {
            let meter = &mut *self.meter;
            meter.left = meter.left.saturating_sub(instructions as i64);
            meter.slice = meter.slice.saturating_sub(instructions as i64);
            if instructions >= MUCH || meter.left <= 0 || meter.slice <= 0 {
                meter.step = 1;
                meter.slice = 0;
                ffi::lua_sethook(meter.state, Some(hook), ffi::LUA_MASKCOUNT, 1);
            }
        }
    }

    /// Runs `resume` within an allowance and subtracts what `resume` uses from the allowance.
    pub fn slice<R>(&self, allowance: &mut Allowance, resume: impl FnOnce() -> R) -> (R, Break) {
        if !self.is_limited {
            return (resume(), Break::None);
        }
        let pace = Pace::new(allowance.tempo);
        let step = pace.step().min(allowance.instructions.max(1));
        // SAFETY: the meter lives forever. The code in `resume` reaches it by the same pointer
        // only, and no reference is held across the call.
        let before = unsafe {
            let meter = &mut *self.meter;
            meter.left = allowance.instructions;
            meter.slice = SLICE;
            meter.pace = pace;
            meter.step = step;
            meter.enough = meter.used.saturating_add(allowance.bytes);
            meter.most = meter.enough.saturating_add(allowance.most);
            meter.overflows = false;
            meter.until_hook = SLICE_BYTES;
            meter.broke = Break::None;
            meter.is_first = !std::mem::replace(&mut allowance.begun, true);
            ffi::lua_sethook(meter.state, Some(hook), ffi::LUA_MASKCOUNT, step as c_int);
            meter.used
        };
        let result = resume();
        // SAFETY: the meter lives forever, and `resume` has returned.
        let broke = unsafe {
            let meter = &mut *self.meter;
            // The hook stays set, because removing and setting it costs more than one idle call.
            (meter.enough, meter.most) = (isize::MAX, isize::MAX);
            allowance.instructions = std::mem::replace(&mut meter.left, i64::MAX);
            allowance.tempo = meter.pace.tempo();
            if meter.until_hook == 0 {
                // LuaJIT decides by the number of allocations when to collect, not by their size.
                ffi::lua_gc(meter.state, ffi::LUA_GCSTEP, COLLECTED);
            }
            meter.until_hook = usize::MAX;
            allowance.charge(before, meter.used);
            meter.broke
        };
        (result, broke)
    }
}

/// Allocates memory for the Lua state with LuaJIT's own allocator, and counts the bytes.
unsafe extern "C" fn allocate(
    data: *mut c_void,
    block: *mut c_void,
    old: usize,
    new: usize,
) -> *mut c_void {
    // SAFETY: `data` is the meter that was registered with this function. Lua calls neither this
    // function nor the hook within the other.
    let meter = unsafe { &mut *data.cast::<Meter>() };
    let after = meter.used + new as isize - old as isize;
    if new > old {
        if after > meter.most {
            return ptr::null_mut();
        }
        let rest = meter.until_hook;
        if rest != usize::MAX {
            meter.until_hook = rest.saturating_sub(new);
        }
        let overflows = after > meter.enough && !meter.overflows;
        if (rest > 0 && meter.until_hook == 0) || overflows {
            meter.slice = 0;
            meter.overflows |= overflows;
            // SAFETY: LuaJIT lets the hook be set at any time, even from signal handlers.
            unsafe { ffi::lua_sethook(meter.state, Some(hook), ffi::LUA_MASKCOUNT, 1) };
        }
    }
    // SAFETY: these are Lua's own arguments for its own allocator.
    let given = unsafe { (meter.inner)(meter.data, block, old, new) };
    if new == 0 || !given.is_null() {
        meter.used = after;
    }
    given
}

/// LuaJIT calls this hook each time a script has run the set number of instructions.
unsafe extern "C-unwind" fn hook(state: *mut lua_State, _: *mut lua_Debug) {
    let mut data = ptr::null_mut();
    // SAFETY: the allocator's data is the meter. No reference to the meter is held when LuaJIT
    // leaves this function by unwinding.
    unsafe {
        ffi::lua_getallocf(state, &mut data);
        let meter = data.cast::<Meter>();
        (*meter).slice -= (*meter).step;
        (*meter).left -= (*meter).pace.charge((*meter).step);
        let is_refused = std::mem::take(&mut (*meter).overflows) && !make_room(state, meter);
        let exhausted = (*meter).left <= 0;
        let may_yield = lua_isyieldable(state) != 0;
        if exhausted {
            // From now on each instruction calls the hook, so that no pcall can go on.
            (*meter).step = 1;
            ffi::lua_sethook(state, Some(hook), ffi::LUA_MASKCOUNT, 1);
            (*meter).broke = Break::Exhausted;
        } else {
            let is_over = (*meter).slice <= 0 || (*meter).pace.is_over();
            (*meter).step = (*meter).pace.step().min((*meter).left);
            let step = (*meter).step as c_int;
            ffi::lua_sethook(state, Some(hook), ffi::LUA_MASKCOUNT, step);
            if !is_over {
                return;
            }
            if !may_yield {
                (*meter).slice = SLICE;
                (*meter).until_hook = SLICE_BYTES;
                (*meter).is_first = false;
            }
        }
        if is_refused && !exhausted {
            // The script may catch this error with pcall and go on.
            ffi::lua_pushlstring_(state, NO_MEMORY.as_ptr().cast(), NO_MEMORY.len());
            ffi::lua_error(state);
        }
        match (may_yield, exhausted) {
            (true, _) => {
                if !exhausted {
                    (*meter).broke = Break::Slice;
                }
                ffi::lua_yield(state, 0);
            }
            (false, true) => {
                ffi::lua_pushstring(state, c"too many instructions".as_ptr());
                ffi::lua_error(state);
            }
            (false, false) => {}
        }
    }
}

/// Collects garbage at the cost of the running script. Returns false if the script still holds too
/// much.
unsafe fn make_room(state: *mut lua_State, meter: *mut Meter) -> bool {
    // SAFETY: the hook calls this function under its own conditions. The collection calls the
    // allocator.
    unsafe {
        let cost = hook_interval::cost(|| ffi::lua_gc(state, ffi::LUA_GCCOLLECT, 0));
        (*meter).left -= cost;
        (*meter).used <= (*meter).enough
    }
}
