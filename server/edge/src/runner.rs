//! A coroutine that runs one script in an environment of its own, and can run it again once it has come to its end.
#![allow(unsafe_code)] // coroutines that begin again are beyond mlua

use mlua::ffi::{self, lua_State};
use mlua::{Error, Function, Lua, Result, Thread, Value};
use std::ffi::c_int;
use std::ptr;

/// What a slice of it came to.
pub enum Stop {
    /// It can go on.
    Yielded,
    /// It came to its end.
    Returned,
    Failed(Error),
}

pub struct Runner {
    state: *mut lua_State,
    /// Keeps the coroutine from being collected.
    _thread: Thread,
    began: bool,
}

/// The bottom of the coroutine's stack has what it begins with.
const BODY: c_int = 1;

impl Runner {
    pub fn new(lua: &Lua, body: Function) -> Result<Runner> {
        let mut coroutine = ptr::null_mut();
        // SAFETY: called in protected mode, with the function on the stack; it goes to the coroutine's, and the
        // coroutine is left.
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

    /// Lets it work until it stops, from the beginning or where it yielded.
    pub fn resume(&mut self, lua: &Lua) -> Stop {
        // SAFETY: the coroutine lives as long as `self`. Its stack has more room than is used here, what it runs is
        // called in protected mode, and what it returned is taken off.
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

    /// What it raised.
    fn error(&self, lua: &Lua) -> Error {
        let state = self.state;
        // SAFETY: an error lies on the top of a coroutine that has died of it.
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
