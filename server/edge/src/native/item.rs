//! One value on Lua's stack.
#![allow(unsafe_code)] // Lua's C interface

use super::{said, Refusal};
use mlua::ffi::{self, lua_State};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::slice;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Nil,
    Boolean,
    Number,
    Text,
    Table,
    Function,
    /// A userdata or a coroutine.
    Other,
}

/// It stays where it is as long as 'i.
#[derive(Clone, Copy)]
pub struct Item<'i> {
    state: *mut lua_State,
    index: c_int,
    lives: PhantomData<&'i ()>,
}

impl<'i> Item<'i> {
    /// # Safety
    /// The value at this place, counted from the bottom, must stay there for 'i, and the caller must be a function
    /// that Lua has called, which what Lua raises may leave.
    pub unsafe fn new(state: *mut lua_State, index: c_int) -> Item<'i> {
        Item {
            state,
            index,
            lives: PhantomData,
        }
    }

    #[inline]
    pub fn kind(&self) -> Kind {
        // SAFETY: an index that holds nothing is a kind, too.
        match unsafe { ffi::lua_type(self.state, self.index) } {
            ffi::LUA_TNONE | ffi::LUA_TNIL => Kind::Nil,
            ffi::LUA_TBOOLEAN => Kind::Boolean,
            ffi::LUA_TNUMBER => Kind::Number,
            ffi::LUA_TSTRING => Kind::Text,
            ffi::LUA_TTABLE => Kind::Table,
            ffi::LUA_TFUNCTION => Kind::Function,
            _ => Kind::Other,
        }
    }

    /// The bytes of a string or a number; `None`: it is neither.
    #[inline]
    pub fn bytes(&self) -> Option<&'i [u8]> {
        let mut length = 0;
        // SAFETY: Lua gives a string of that length, or null; the string stays while it is on the stack. A number
        // becomes a string in its place.
        unsafe {
            let start = ffi::lua_tolstring(self.state, self.index, &mut length);
            match start.is_null() {
                true => None,
                false => Some(slice::from_raw_parts(start.cast(), length)),
            }
        }
    }

    /// The bytes of a string; `None`: it is none.
    #[inline]
    pub fn as_text(&self) -> Option<&'i [u8]> {
        match self.kind() {
            Kind::Text => self.bytes(),
            _ => None,
        }
    }

    /// The bytes, where nothing else will do.
    pub fn text(&self) -> Result<&'i [u8], Refusal> {
        self.bytes()
            .ok_or_else(|| said(format!("expected a string, not {}", self.described())))
    }

    /// The same, where nil will do as well.
    pub fn text_or_nil(&self) -> Result<Option<&'i [u8]>, Refusal> {
        match self.kind() {
            Kind::Nil => Ok(None),
            _ => self.text().map(Some),
        }
    }

    #[inline]
    pub fn number(&self) -> Option<f64> {
        match self.kind() {
            // SAFETY: it is a number.
            Kind::Number => Some(unsafe { ffi::lua_tonumber(self.state, self.index) }),
            _ => None,
        }
    }

    /// Its kind with an article, for a message.
    pub fn described(&self) -> &'static str {
        match self.kind() {
            Kind::Nil => "nil",
            Kind::Boolean => "a boolean",
            Kind::Number => "a number",
            Kind::Text => "a string",
            Kind::Table => "a table",
            Kind::Function => "a function",
            Kind::Other => "an object",
        }
    }

    /// The very same value.
    #[inline]
    pub fn is(&self, other: &Item<'_>) -> bool {
        // SAFETY: indexes that hold nothing are equal to nothing. No method is called.
        unsafe { ffi::lua_rawequal(self.state, self.index, other.index) != 0 }
    }

    #[inline]
    pub fn has_metatable(&self) -> bool {
        // SAFETY: what is found is taken from the stack again.
        unsafe {
            let has = ffi::lua_getmetatable(self.state, self.index) != 0;
            if has {
                ffi::lua_settop(self.state, -2);
            }
            has
        }
    }

    /// Entries of a table's list.
    #[inline]
    pub fn length(&self) -> usize {
        // SAFETY: any value has a length, or none.
        unsafe { ffi::lua_objlen(self.state, self.index) }
    }

    /// Looks at a table's entry of this number.
    pub fn entry<R>(&self, number: c_int, look: impl FnOnce(Item<'_>) -> R) -> R {
        debug_assert_eq!(self.kind(), Kind::Table);
        // SAFETY: it is a table; what is found lies on the top while it is looked at.
        unsafe {
            ffi::lua_rawgeti_(self.state, self.index, number);
            self.top(look)
        }
    }

    /// Looks at a table's member of the name that another item is.
    pub fn member_named<R>(&self, name: &Item<'_>, look: impl FnOnce(Item<'_>) -> R) -> R {
        debug_assert_eq!(self.kind(), Kind::Table);
        // SAFETY: as above.
        unsafe {
            ffi::lua_pushvalue(self.state, name.index);
            ffi::lua_rawget_(self.state, self.index);
            self.top(look)
        }
    }

    /// Looks at a table's member of this name.
    pub fn member<R>(&self, name: &str, look: impl FnOnce(Item<'_>) -> R) -> R {
        debug_assert_eq!(self.kind(), Kind::Table);
        // SAFETY: as above.
        unsafe {
            ffi::lua_pushlstring_(self.state, name.as_ptr().cast(), name.len());
            ffi::lua_rawget_(self.state, self.index);
            self.top(look)
        }
    }

    /// Looks at the members of a table, by key and value.
    pub fn each<E>(
        &self,
        mut look: impl FnMut(Item<'_>, Item<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        debug_assert_eq!(self.kind(), Kind::Table);
        // SAFETY: it is a table, and keys are looked at only where that leaves them as they are: `bytes` is for
        // strings.
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

    /// Sets a member of a table.
    pub fn set(&self, key: Item<'_>, value: Option<Item<'_>>) {
        debug_assert_eq!(self.kind(), Kind::Table);
        // SAFETY: it is a table; the key is one already, or no NaN nor nil.
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
        // SAFETY: what is on the top stays there meanwhile.
        unsafe {
            let top = ffi::lua_gettop(self.state);
            let looked = look(Item::new(self.state, top));
            ffi::lua_settop(self.state, top - 1);
            looked
        }
    }
}
