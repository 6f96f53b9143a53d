//! Calls crypt(3) of the system's library, which implements DES, MD5, SHA-256, SHA-512, bcrypt and
//! yescrypt.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, CStr, CString};

/// `struct crypt_data`: 32 KiB of scratch memory with a layout private to the library.
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

/// Hashes the password in the format and with the salt of `setting`. Returns `None` if the format
/// is unknown.
pub fn crypt(password: &[u8], setting: &str) -> Option<String> {
    let password = CString::new(password).ok()?;
    let setting = CString::new(setting).ok()?;
    let mut scratch = Box::new(Scratch([0; 32 * 1024]));
    let size = std::mem::size_of::<Scratch>() as c_int;
    // SAFETY: both strings end with NUL and live through the call. The scratch has the size and
    // alignment that crypt(3) needs and belongs to this call alone, so several threads may call
    // this function.
    let made = unsafe { crypt_rn(password.as_ptr(), setting.as_ptr(), &mut *scratch, size) };
    if made.is_null() {
        return None;
    }
    // SAFETY: a non-null result is a NUL-terminated string within the scratch, which still lives.
    let text = unsafe { CStr::from_ptr(made) };
    Some(text.to_str().ok()?.to_string())
}
