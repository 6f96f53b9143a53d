//! crypt(3): DES, MD5, SHA-256, SHA-512, bcrypt and yescrypt, as the system's own library knows them.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, CStr, CString};

/// `struct crypt_data`: 32 KiB of scratch whose layout is the library's own business.
#[repr(C, align(16))]
struct Scratch([u8; 32 * 1024]);

#[link(name = "crypt")]
extern "C" {
    fn crypt_rn(
        phrase: *const c_char,
        setting: *const c_char,
        data: *mut Scratch,
        size: c_int,
    ) -> *mut c_char;
}

/// The password in the form `setting` is in; `None`: the setting is not known.
pub fn crypt(password: &[u8], setting: &str) -> Option<String> {
    let password = CString::new(password).ok()?;
    let setting = CString::new(setting).ok()?;
    let mut scratch = Box::new(Scratch([0; 32 * 1024]));
    let size = std::mem::size_of::<Scratch>() as c_int;
    // SAFETY: both strings end with NUL and live through the call; the scratch is as large and as
    // aligned as crypt(3) wants and is told its size; it is nobody else's, so threads may call this.
    let made = unsafe { crypt_rn(password.as_ptr(), setting.as_ptr(), &mut *scratch, size) };
    if made.is_null() {
        return None;
    }
    // SAFETY: what is not null is a string that ends with NUL within the scratch, which still lives.
    let text = unsafe { CStr::from_ptr(made) };
    Some(text.to_str().ok()?.to_string())
}
