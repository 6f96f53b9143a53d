//! Homes of the machine's users, for `UserDir`.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::time::{Duration, Instant};

/// An account is asked for again after this; the system's own answer takes microseconds where it is in a file.
const LIFE: Duration = Duration::from_secs(60);
/// Names remembered at most: a client may ask for any.
const NAMES: usize = 1024;
/// Longer entries are nobody's.
const LONGEST: usize = 16 * 1024;

type Known = HashMap<String, (Instant, Option<String>)>;

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// `None`: there is no such user.
pub fn home_of(name: &str) -> Option<String> {
    let known = KNOWN.with_borrow(|known| known.get(name).cloned());
    if let Some((_, home)) = known.filter(|(since, _)| since.elapsed() < LIFE) {
        return home;
    }
    let home = looked_up(name);
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= NAMES {
            known.clear();
        }
        known.insert(name.to_string(), (Instant::now(), home.clone()));
    });
    home
}

fn looked_up(name: &str) -> Option<String> {
    let name = CString::new(name).ok()?;
    // SAFETY: zeros are an entry of nobody.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut texts = vec![0; LONGEST];
    let mut found = std::ptr::null_mut();
    // SAFETY: entry, texts and found live through the call; the texts are as long as is said.
    let status = unsafe {
        libc::getpwnam_r(
            name.as_ptr(),
            &mut entry,
            texts.as_mut_ptr(),
            texts.len(),
            &mut found,
        )
    };
    if status != 0 || found.is_null() || entry.pw_dir.is_null() {
        return None;
    }
    // SAFETY: the entry was found, so its home is a C string within the texts, which still live.
    let home = unsafe { CStr::from_ptr(entry.pw_dir) };
    home.to_str().ok().map(str::to_string)
}

#[cfg(test)]
mod tests {
    #[test]
    fn root_has_a_home_and_nobody_else_of_that_kind() {
        assert!(super::home_of("root").is_some_and(|home| home.starts_with('/')));
        assert_eq!(super::home_of("no such user"), None);
    }
}
