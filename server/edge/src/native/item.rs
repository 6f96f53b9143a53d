//! Reads one value on Lua's stack.
#![allow(unsafe_code)] // Lua's C interface

use super::{said, Refusal};
use mlua::ffi::{self, lua_State};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::slice;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LuaType {
    Nil,
    Boolean,
    Number,
    Text,
    Table,
    Function,
    /// A userdata or a coroutine.
    Other,
}

/// A value on Lua's stack that stays in place as long as 'i.
#[derive(Clone, Copy)]
pub struct Item<'i> {
    state: *mut lua_State,
    index: c_int,
    lives: PhantomData<&'i ()>,
}

impl<'i> Item<'i> {
    /// Returns the value at this place, counted from the bottom of the stack.
    ///
    /// # Safety
    ///
    /// The value must stay at this place for 'i. The caller must be a function that Lua has called,
    /// and Lua's errors may leave this function.
    pub unsafe fn new(state: *mut lua_State, index: c_int) -> Item<'i> {
        Item {
            state,
            index,
            lives: PhantomData,
        }
    }

    #[inline]
    pub fn kind(&self) -> LuaType {
        // SAFETY: an index without a value has a type, too.
        match unsafe { ffi::lua_type(self.state, self.index) } {
            ffi::LUA_TNONE | ffi::LUA_TNIL => LuaType::Nil,
            ffi::LUA_TBOOLEAN => LuaType::Boolean,
            ffi::LUA_TNUMBER => LuaType::Number,
            ffi::LUA_TSTRING => LuaType::Text,
            ffi::LUA_TTABLE => LuaType::Table,
            ffi::LUA_TFUNCTION => LuaType::Function,
            _ => LuaType::Other,
        }
    }

    /// Returns the bytes of a string or a number, and `None` for other values.
    #[inline]
    pub fn bytes(&self) -> Option<&'i [u8]> {
        let mut length = 0;
        // SAFETY: Lua returns null or a string of that length, and the string stays while it is on
        // the stack. A number becomes a string in its place.
        unsafe {
            let start = ffi::lua_tolstring(self.state, self.index, &mut length);
            if start.is_null() {
                None
            } else {
                Some(slice::from_raw_parts(start.cast(), length))
            }
        }
    }

    /// Returns the bytes of a string, and `None` for other values.
    #[inline]
    pub fn as_text(&self) -> Option<&'i [u8]> {
        match self.kind() {
            LuaType::Text => self.bytes(),
            _ => None,
        }
    }

    /// Returns the bytes of a string or a number.
    ///
    /// # Errors
    ///
    /// A refusal for other values.
    pub fn text(&self) -> Result<&'i [u8], Refusal> {
        self.bytes()
            .ok_or_else(|| said(format!("expected a string, not {}", self.described())))
    }

    /// Returns the bytes of a string or a number, and `None` for nil.
    ///
    /// # Errors
    ///
    /// A refusal for other values.
    pub fn text_or_nil(&self) -> Result<Option<&'i [u8]>, Refusal> {
        match self.kind() {
            LuaType::Nil => Ok(None),
            _ => self.text().map(Some),
        }
    }

    #[inline]
    pub fn number(&self) -> Option<f64> {
        match self.kind() {
            // SAFETY: the value is a number.
            LuaType::Number => Some(unsafe { ffi::lua_tonumber(self.state, self.index) }),
            _ => None,
        }
    }

    /// Returns the value's kind with an article, for a message.
    pub fn described(&self) -> &'static str {
        match self.kind() {
            LuaType::Nil => "nil",
            LuaType::Boolean => "a boolean",
            LuaType::Number => "a number",
            LuaType::Text => "a string",
            LuaType::Table => "a table",
            LuaType::Function => "a function",
            LuaType::Other => "an object",
        }
    }

    /// Returns whether both items are the same value, without metamethods.
    #[inline]
    pub fn is(&self, other: &Item<'_>) -> bool {
        // SAFETY: an index without a value equals nothing, and the call runs no metamethod.
        unsafe { ffi::lua_rawequal(self.state, self.index, other.index) != 0 }
    }

    #[inline]
    pub fn has_metatable(&self) -> bool {
        // SAFETY: a found metatable is taken from the stack again.
        unsafe {
            let has = ffi::lua_getmetatable(self.state, self.index) != 0;
            if has {
                ffi::lua_settop(self.state, -2);
            }
            has
        }
    }

    /// Returns the length of a table's list.
    #[inline]
    pub fn length(&self) -> usize {
        // SAFETY: lua_objlen accepts any value.
        unsafe { ffi::lua_objlen(self.state, self.index) }
    }

    /// Calls `look` with the table's entry of this number.
    pub fn entry<R>(&self, number: c_int, look: impl FnOnce(Item<'_>) -> R) -> R {
        debug_assert_eq!(self.kind(), LuaType::Table);
        // SAFETY: the value is a table, and the entry lies on the top of the stack during `look`.
        unsafe {
            ffi::lua_rawgeti_(self.state, self.index, number);
            self.top(look)
        }
    }

    /// Calls `look` with the table's member whose key is another item.
    pub fn member_named<R>(&self, name: &Item<'_>, look: impl FnOnce(Item<'_>) -> R) -> R {
        debug_assert_eq!(self.kind(), LuaType::Table);
        // SAFETY: the value is a table, and the member lies on the top of the stack during `look`.
        unsafe {
            ffi::lua_pushvalue(self.state, name.index);
            ffi::lua_rawget_(self.state, self.index);
            self.top(look)
        }
    }

    /// Calls `look` with the table's member of this name.
    pub fn member<R>(&self, name: &str, look: impl FnOnce(Item<'_>) -> R) -> R {
        debug_assert_eq!(self.kind(), LuaType::Table);
        // SAFETY: the value is a table, and the member lies on the top of the stack during `look`.
        unsafe {
            ffi::lua_pushlstring_(self.state, name.as_ptr().cast(), name.len());
            ffi::lua_rawget_(self.state, self.index);
            self.top(look)
        }
    }

    /// Calls `look` with each key and value of a table.
    ///
    /// # Errors
    ///
    /// The first error of `look`.
    pub fn each<E>(
        &self,
        mut look: impl FnMut(Item<'_>, Item<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        debug_assert_eq!(self.kind(), LuaType::Table);
        // SAFETY: the value is a table. No key changes during the iteration, because `bytes` is
        // called for string keys only.
        unsafe {
            let below = ffi::lua_gettop(self.state);
            ffi::lua_pushnil(self.state);
            while ffi::lua_next(self.state, self.index) != 0 {
                let key = Item::new(self.state, below + 1);
                let looked = look(key, Item::new(self.state, below + 2));
                if looked.is_err() {
                    ffi::lua_settop(self.state, below);
                    return looked;
                }
                ffi::lua_settop(self.state, below + 1);
            }
        }
        Ok(())
    }

    /// Sets a member of a table. A value of `None` removes the member.
    pub fn set(&self, key: Item<'_>, value: Option<Item<'_>>) {
        debug_assert_eq!(self.kind(), LuaType::Table);
        // SAFETY: the value is a table. The key is an existing key, or neither NaN nor nil.
        unsafe {
            ffi::lua_pushvalue(self.state, key.index);
            match value {
                Some(value) => ffi::lua_pushvalue(self.state, value.index),
                None => ffi::lua_pushnil(self.state),
            }
            ffi::lua_rawset(self.state, self.index);
        }
    }

    #[inline]
    unsafe fn top<R>(&self, look: impl FnOnce(Item<'_>) -> R) -> R {
        // SAFETY: the value on the top stays there during `look`.
        unsafe {
            let top = ffi::lua_gettop(self.state);
            let looked = look(Item::new(self.state, top));
            ffi::lua_settop(self.state, top - 1);
            looked
        }
    }
}
