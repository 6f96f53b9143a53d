//! Runs one script in a coroutine with an environment of its own. The coroutine can run again after
//! its end.
#![allow(unsafe_code)] // mlua cannot restart a coroutine

use mlua::ffi::{self, lua_State};
use mlua::{Error, Function, Lua, Result, Thread, Value};
use std::ffi::c_int;
use std::ptr;

/// Why a coroutine stopped.
pub enum Stop {
    /// The slice is over, and the coroutine can go on.
    Yielded,
    /// The script has ended.
    Returned,
    Failed(Error),
}

pub struct Runner {
    state: *mut lua_State,
    /// Keeps Lua's garbage collector from freeing the coroutine.
    _thread: Thread,
    began: bool,
}

/// The index of the coroutine's body at the bottom of its stack.
const BODY: c_int = 1;

impl Runner {
    pub fn new(lua: &Lua, body: Function) -> Result<Runner> {
        let mut coroutine = ptr::null_mut();
        // SAFETY: the code runs in protected mode with the function on the stack. The function
        // moves to the coroutine's stack, and the coroutine is left.
        let thread = unsafe {
            lua.exec_raw(body, |state| {
                coroutine = ffi::lua_newthread(state);
                ffi::lua_insert(state, -2);
                ffi::lua_xmove(state, coroutine, 1);
            })?
        };
        Ok(Runner {
            state: coroutine,
            _thread: thread,
            began: false,
        })
    }

    /// Resumes the coroutine from its beginning or its last yield, until it stops.
    pub fn resume(&mut self, lua: &Lua) -> Stop {
        // SAFETY: the coroutine lives as long as `self`. Its stack has enough room, its body runs
        // in protected mode, and its results are taken off the stack.
        unsafe {
            if !std::mem::replace(&mut self.began, true) {
                ffi::lua_pushvalue(self.state, BODY);
            }
            match ffi::lua_resume_(self.state, 0) {
                ffi::LUA_OK => {
                    ffi::lua_settop(self.state, BODY);
                    self.began = false;
                    Stop::Returned
                }
                ffi::LUA_YIELD => Stop::Yielded,
                ffi::LUA_ERRMEM => Stop::Failed(Error::MemoryError("not enough memory".into())),
                _ => Stop::Failed(self.error(lua)),
            }
        }
    }

    /// Returns the error that the coroutine raised.
    fn error(&self, lua: &Lua) -> Error {
        let state = self.state;
        // SAFETY: the error lies on the top of the failed coroutine's stack.
        let raised = unsafe { lua.exec_raw::<Value>((), |main| ffi::lua_xmove(state, main, 1)) };
        match raised {
            Ok(Value::Error(error)) => *error,
            Ok(Value::String(text)) => Error::RuntimeError(text.to_string_lossy()),
            Ok(other) => Error::RuntimeError(format!("raised {}, not a text", article(&other))),
            Err(error) => error,
        }
    }
}

fn article(value: &Value) -> String {
    match value {
        Value::Nil => "nil".to_string(),
        other => format!("a {}", other.type_name()),
    }
}
