//! The Lua state and its fence: how many instructions and how much memory a slice of a script may take.
//!
//! A hook counts instructions and yields from within the running coroutine, so that the thread has something else
//! to do between two slices; the allocator counts bytes, and calls the hook early when many are moved, for a few
//! instructions can copy megabytes. Where instructions take long all the same, `pace` has the hook called sooner. What a
//! script holds is counted without what nobody holds any more: beyond its limit the hook collects that first.
//! LuaJIT's compiler is off: compiled loops call no hooks.
#![allow(unsafe_code)] // the hook and the allocator are C's; mlua has no yield from a hook of LuaJIT

use crate::native::NO_MEMORY;
use crate::pace::{self, Pace, Tempo};
use mlua::ffi::{self, lua_Debug, lua_State};
use mlua::{Lua, Result, Table};
use std::ffi::{c_int, c_void};
use std::ptr;

/// Instructions after which others have their turn.
const SLICE: i64 = 10_000;
/// Instructions until the hook is called for the first time. Most scripts are done by then.
const BEGINNING: i64 = 150;
/// Bytes that may be allocated, whatever is freed meanwhile, before others have their turn.
const SLICE_BYTES: usize = 1024 * 1024;
/// Bytes that are few for a run.
const SMALL: usize = 64 * 1024;
/// KiB of garbage looked for after such a slice.
const COLLECTED: c_int = 1024;

extern "C-unwind" {
    /// LuaJIT has it; mlua's list of LuaJIT's functions has not.
    fn lua_isyieldable(state: *mut lua_State) -> c_int;
}

/// What a run has left.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    instructions: i64,
    bytes: isize,
    /// Bytes it began with: what others left behind is collected to nobody's credit.
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

/// How a slice came to its end, beside what the coroutine says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The script's own doing.
    None,
    /// Others have their turn now.
    Slice,
    /// It has used its instructions up.
    Exhausted,
}

struct Meter {
    inner: ffi::lua_Alloc,
    data: *mut c_void,
    /// Bytes the state holds.
    used: isize,
    /// Beyond this, garbage is collected; and if it is still more, that is too much.
    enough: isize,
    /// Beyond this there is no memory.
    most: isize,
    /// It was more than enough.
    overflows: bool,
    /// Instructions left, those left in the slice, and those until the hook is called.
    left: i64,
    slice: i64,
    step: i64,
    pace: Pace,
    /// Bytes until the hook is called early; 0: that is why it is.
    until_hook: usize,
    broke: Break,
    /// The run is in its first slice.
    is_first: bool,
    state: *mut lua_State,
}

/// Lives as long as the process.
pub struct Interpreter {
    lua: Lua,
    meter: *mut Meter,
    is_fenced: bool,
}

impl Interpreter {
    /// A state whose slices come to an end.
    pub fn fenced() -> Result<Interpreter> {
        let interpreter = Interpreter::unfenced()?;
        let jit: Table = interpreter.lua.globals().get("jit")?;
        jit.get::<mlua::Function>("off")?.call::<()>(())?;
        Ok(Interpreter {
            is_fenced: true,
            ..interpreter
        })
    }

    /// A state with all of Lua's libraries, which nothing interrupts.
    pub fn unfenced() -> Result<Interpreter> {
        // SAFETY: a fresh state from LuaJIT, with its own allocator behind ours. State and meter are never freed:
        // handles of scripts may outlive `self`, and a front has one interpreter for its life.
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
            is_fenced: false,
        })
    }

    pub fn is_fenced(&self) -> bool {
        self.is_fenced
    }

    /// Whether the running slice has come to its end, for what lies between the script and its coroutine.
    pub fn is_broken(&self) -> bool {
        // SAFETY: the meter lives for ever, and no reference to it is held.
        unsafe { (*self.meter).broke != Break::None }
    }

    /// The run that goes on has taken one slice and little memory so far.
    pub fn is_first_and_small(&self) -> bool {
        // SAFETY: as above.
        unsafe { (*self.meter).is_first && (*self.meter).until_hook > SLICE_BYTES - SMALL }
    }

    pub fn lua(&self) -> &Lua {
        &self.lua
    }

    /// Bytes the state holds.
    pub fn used(&self) -> isize {
        // SAFETY: the meter lives for ever, and no reference to it is held.
        unsafe { (*self.meter).used }
    }

    /// Counts work that no instruction stands for; much of it ends the slice.
    pub fn charge(&self, instructions: usize) {
        const MUCH: usize = 1000;
        if !self.is_fenced || instructions == 0 {
            return;
        }
        // SAFETY: the meter lives for ever, and no reference to it is held; LuaJIT lets the hook be set at any time.
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

    /// Resumes something within an allowance, which is charged for it.
    pub fn slice<R>(&self, allowance: &mut Allowance, resume: impl FnOnce() -> R) -> (R, Break) {
        if !self.is_fenced {
            return (resume(), Break::None);
        }
        let pace = Pace::new(allowance.tempo);
        let step = pace.step().min(allowance.instructions.max(1));
        // SAFETY: the meter lives for ever; what runs in `resume` reaches it by the same pointer only, and
        // no reference is held across it.
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
        // SAFETY: as above.
        let broke = unsafe {
            let meter = &mut *self.meter;
            // The hook stays, as taking it away and back costs more than a call of it; it finds nothing to do.
            (meter.enough, meter.most) = (isize::MAX, isize::MAX);
            allowance.instructions = std::mem::replace(&mut meter.left, i64::MAX);
            allowance.tempo = meter.pace.tempo();
            if meter.until_hook == 0 {
                // LuaJIT collects by the number of allocations, not by their size.
                ffi::lua_gc(meter.state, ffi::LUA_GCSTEP, COLLECTED);
            }
            meter.until_hook = usize::MAX;
            allowance.charge(before, meter.used);
            meter.broke
        };
        (result, broke)
    }
}

/// The allocator of the state: LuaJIT's own, counted.
unsafe extern "C" fn allocate(
    data: *mut c_void,
    block: *mut c_void,
    old: usize,
    new: usize,
) -> *mut c_void {
    // SAFETY: `data` is the meter that was given with this function; Lua calls neither it nor the hook within the
    // other.
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
            // SAFETY: LuaJIT lets the hook be set at any time, from signal handlers even.
            unsafe { ffi::lua_sethook(meter.state, Some(hook), ffi::LUA_MASKCOUNT, 1) };
        }
    }
    // SAFETY: Lua's own arguments for its own allocator.
    let given = unsafe { (meter.inner)(meter.data, block, old, new) };
    if new == 0 || !given.is_null() {
        meter.used = after;
    }
    given
}

/// Called by LuaJIT when a script has run so many instructions.
unsafe extern "C-unwind" fn hook(state: *mut lua_State, _: *mut lua_Debug) {
    let mut data = ptr::null_mut();
    // SAFETY: the allocator's data is the meter; nothing of it is borrowed when LuaJIT leaves this function by
    // unwinding.
    unsafe {
        ffi::lua_getallocf(state, &mut data);
        let meter = data.cast::<Meter>();
        (*meter).slice -= (*meter).step;
        (*meter).left -= (*meter).pace.charge((*meter).step);
        let is_refused = std::mem::take(&mut (*meter).overflows) && !make_room(state, meter);
        let exhausted = (*meter).left <= 0;
        let may_yield = lua_isyieldable(state) != 0;
        if exhausted {
            // From here on each instruction ends here, so that no pcall can go on.
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
            // At the next instruction the script goes on with what catches this, if it has that.
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

/// Collects what nobody holds any more, at the running script's cost. False: what is held is too much.
unsafe fn make_room(state: *mut lua_State, meter: *mut Meter) -> bool {
    // SAFETY: as in the hook, which calls this. Collecting calls the allocator.
    unsafe {
        let cost = pace::cost(|| ffi::lua_gc(state, ffi::LUA_GCCOLLECT, 0));
        (*meter).left -= cost;
        (*meter).used <= (*meter).enough
    }
}
