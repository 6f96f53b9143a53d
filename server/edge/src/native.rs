//! Makes Rust functions that Lua calls directly, without mlua's conversions. The functions read
//! arguments from Lua's stack and push results there. A refusal becomes an error at the script's
//! line.
//!
//! Each function works on the visit of the running slice. No function calls Lua, so no function
//! runs inside another one.
#![allow(unsafe_code)] // Lua's C interface

mod item;

pub use item::{Item, LuaType};

use crate::current::Current;
pub use crate::refusal::{said, Refusal};
use crate::visit::{Source, Visit};
use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, Result};
use std::ffi::c_int;
use std::rc::Rc;

/// The result of a function.
pub enum Answer<'v> {
    Nil,
    Number(f64),
    Text(&'v [u8]),
    Made(Vec<u8>),
}

/// LuaJIT's own message for a failed allocation.
pub const NO_MEMORY: &str = "not enough memory";

pub type CallResult<'v> = std::result::Result<Answer<'v>, Refusal>;

type Body = dyn for<'v> Fn(&'v mut Visit, &Arguments<'v>) -> CallResult<'v>;

/// The arguments of a call.
pub struct Arguments<'v> {
    state: *mut lua_State,
    source: Option<&'v dyn Source>,
}

impl<'v> Arguments<'v> {
    /// Returns the argument of this number, counted from 1. A missing argument is nil.
    pub fn at(&self, index: u8) -> Item<'v> {
        // SAFETY: the arguments lie on the stack of `state` as long as the function runs, which is
        // 'v.
        unsafe { Item::new(self.state, c_int::from(index)) }
    }

    /// Returns one of the texts that the function was made with, counted from 1.
    pub fn text(&self, number: u8) -> Item<'v> {
        let upvalue = ffi::lua_upvalueindex(c_int::from(number) + 1);
        // SAFETY: upvalues stay in place, and a missing upvalue is nil.
        unsafe { Item::new(self.state, upvalue) }
    }

    /// Returns the source of values that the visit does not know yet.
    pub fn source(&self) -> Option<&'v dyn Source> {
        self.source
    }
}

struct Bound {
    current: Rc<Current>,
    body: Box<Body>,
}

/// Makes a function for Lua. The function lives as long as the process, like the interpreter.
///
/// # Errors
///
/// Lua's error if there is no memory.
pub fn function<F>(lua: &Lua, current: &Rc<Current>, body: F) -> Result<Function>
where
    F: for<'v> Fn(&'v mut Visit, &Arguments<'v>) -> CallResult<'v> + 'static,
{
    function_with(lua, current, &[], body)
}

/// Makes a function with texts that it uses as keys of tables. For a Rust text Lua would search its
/// string table at each use.
///
/// # Errors
///
/// Lua's error if there is no memory.
pub fn function_with<F>(
    lua: &Lua,
    current: &Rc<Current>,
    texts: &[&str],
    body: F,
) -> Result<Function>
where
    F: for<'v> Fn(&'v mut Visit, &Arguments<'v>) -> CallResult<'v> + 'static,
{
    let bound = Box::new(Bound {
        current: current.clone(),
        body: Box::new(body),
    });
    let bound: *mut Bound = Box::leak(bound);
    // SAFETY: the code runs in protected mode and leaves one value on the stack, which has room for
    // a few.
    unsafe {
        lua.exec_raw((), |state| {
            ffi::lua_pushlightuserdata(state, bound.cast());
            for text in texts {
                push_text(state, text.as_bytes());
            }
            ffi::lua_pushcclosure(state, call, 1 + texts.len() as c_int);
        })
    }
}

/// Runs a Rust function for Lua. All such functions have this entry point.
unsafe extern "C-unwind" fn call(state: *mut lua_State) -> c_int {
    // SAFETY: the first upvalue is what `function_with` leaked, and nothing writes it. The visit is
    // lent as long as its slice runs, and to one function at a time, because no function calls Lua.
    // Lua's errors unwind through this frame.
    unsafe {
        let bound = ffi::lua_touserdata(state, ffi::lua_upvalueindex(1)).cast::<Bound>();
        let outcome = match (*bound).current.lent() {
            Some(lent) => {
                let source = lent.source.map(|source| &*source);
                ((*bound).body)(&mut *lent.visit, &Arguments { state, source })
            }
            None => Err(said("there is no request here")),
        };
        match outcome {
            Ok(answer) => push(state, &answer),
            Err(refusal) => raise(state, refusal),
        }
    }
    1
}

unsafe fn push(state: *mut lua_State, answer: &Answer<'_>) {
    // SAFETY: a C function has room for twenty values.
    unsafe {
        match answer {
            Answer::Nil => ffi::lua_pushnil(state),
            Answer::Number(number) => ffi::lua_pushnumber(state, *number),
            Answer::Text(text) => push_text(state, text),
            Answer::Made(text) => push_text(state, text),
        }
    }
}

unsafe fn push_text(state: *mut lua_State, text: &[u8]) {
    // SAFETY: Lua copies these bytes.
    unsafe { ffi::lua_pushlstring_(state, text.as_ptr().cast(), text.len()) }
}

unsafe fn raise(state: *mut lua_State, refusal: Refusal) -> ! {
    // SAFETY: a C function has room for twenty values. The text is freed before Lua leaves this
    // frame.
    unsafe {
        match &refusal {
            Refusal::NoMemory => push_text(state, NO_MEMORY.as_bytes()),
            Refusal::SaidOfAll(text) => push_text(state, text.as_bytes()),
            Refusal::Said(text) => {
                ffi::luaL_where(state, 1);
                push_text(state, text.as_bytes());
                ffi::lua_concat(state, 2);
            }
        }
        drop(refusal);
        ffi::lua_error(state)
    }
}
