//! Calls the system's resolver: getnameinfo(3), getaddrinfo(3) and getpwnam_r(3).
#![allow(unsafe_code)]

use super::{Answer, Name, Query};
use std::ffi::{c_char, CStr, CString};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// The size of the buffer for a host name, longer than any host name (RFC 1035 section 2.3.4: 255
/// bytes).
const LONGEST: usize = 1025;
/// The size of the buffer for a passwd entry. Longer entries are ignored.
const LONGEST_ENTRY: usize = 16 * 1024;

/// Answers a query. The call blocks for as long as the resolver takes.
pub fn answer(query: &Query) -> Answer {
    match query {
        Query::NameOf(address) => match name_of(*address) {
            Ok(None) => Answer::Name(None),
            Ok(Some(text)) => Answer::Name(Some(Name {
                is_confirmed: addresses_of(&text).is_some_and(|all| all.contains(address)),
                text,
            })),
            Err(_) => Answer::Failed,
        },
        Query::AddressesOf(name) => addresses_of(name).map_or(Answer::Failed, Answer::Addresses),
        Query::Home(name) => Answer::Home(home_of(name)),
    }
}

/// Returns the addresses of a name, or `None` if there are none or the lookup failed. In both cases
/// no client is admitted.
fn addresses_of(name: &str) -> Option<Vec<IpAddr>> {
    let all = (name, 0).to_socket_addrs().ok()?;
    Some(all.map(|one| one.ip().to_canonical()).collect())
}

/// Returns the name of an address in lower case. `Ok(None)` means that the address has no name.
fn name_of(address: IpAddr) -> Result<Option<String>, i32> {
    let mut text = [0 as c_char; LONGEST];
    let (storage, length) = as_socket_address(SocketAddr::new(address, 0));
    // SAFETY: the address lives through the call and has the stated family and length. The text is
    // ours and as long as stated. No service is requested.
    let status = unsafe {
        libc::getnameinfo(
            std::ptr::addr_of!(storage).cast(),
            length,
            text.as_mut_ptr(),
            LONGEST as libc::socklen_t,
            std::ptr::null_mut(),
            0,
            libc::NI_NAMEREQD,
        )
    };
    match status {
        0 => {
            text[LONGEST - 1] = 0;
            // SAFETY: the text ends with NUL within its bounds.
            let found = unsafe { CStr::from_ptr(text.as_ptr()) };
            Ok(found.to_str().ok().and_then(host_name))
        }
        libc::EAI_NONAME => Ok(None),
        other => Err(other),
    }
}

/// Checks a host name and returns it in lower case. The owner of an address chooses the address's
/// name. Only a valid host name may therefore reach logs, variables and rules (RFC 1123 section
/// 2.1, and also `_`, which occurs in practice).
fn host_name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let fits = |label: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=63).contains(&label.len()) && label.bytes().all(known)
    };
    (text.len() <= 253 && text.split('.').all(fits)).then(|| text.to_ascii_lowercase())
}

/// Returns the home folder of a user, or `None` if there is no such user.
pub fn home_of(name: &str) -> Option<String> {
    let name = CString::new(name).ok()?;
    // SAFETY: an all-zero passwd entry is valid.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut texts = vec![0; LONGEST_ENTRY];
    let mut found = std::ptr::null_mut();
    // SAFETY: entry, texts and result live through the call, and the texts are as long as stated.
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

fn as_socket_address(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: an all-zero socket address is valid.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let length = match address {
        SocketAddr::V4(four) => {
            let own = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: 0,
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(four.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is larger than any socket address and aligned for each.
            unsafe {
                std::ptr::addr_of_mut!(storage)
                    .cast::<libc::sockaddr_in>()
                    .write(own)
            };
            std::mem::size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(six) => {
            let own = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: 0,
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr {
                    s6_addr: six.ip().octets(),
                },
                sin6_scope_id: 0,
            };
            // SAFETY: the storage is larger than any socket address and aligned for each.
            unsafe {
                std::ptr::addr_of_mut!(storage)
                    .cast::<libc::sockaddr_in6>()
                    .write(own)
            };
            std::mem::size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length as libc::socklen_t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_host_names_are_accepted() {
        let long = format!("{}.example", "x".repeat(64));
        let longer = vec!["label"; 50].join(".");
        for (text, expected) in [
            ("A.Example", Some("a.example")),
            ("a.example.", Some("a.example")),
            ("_x-1.example", Some("_x-1.example")),
            ("a\nb.example", None),
            ("a b.example", None),
            ("a..example", None),
            ("../../etc", None),
            ("a.example\u{e9}", None),
            ("\"><script>", None),
            ("", None),
            (&long, None),
            (&longer, None),
        ] {
            assert_eq!(host_name(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn root_has_a_home_and_an_unknown_user_has_none() {
        assert!(home_of("root").is_some_and(|home| home.starts_with('/')));
        assert_eq!(home_of("no such user"), None);
    }
}
