//! Handles `User` and `Group`: the server becomes this user after it has bound its addresses and
//! opened its files as root.
//!
//! The C library's calls change all threads at once (nptl(7)). Leaving root also clears every
//! capability, so no later program can become root again.
#![allow(unsafe_code)]

use mehari_config::{PerlPool, Problem, Site};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{fchown, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A user and a group other than root's.
#[derive(Debug, Clone)]
pub struct Identity {
    pub user: u32,
    pub group: u32,
    /// The name of the account, which gives the user's other groups. `None` for a number without an
    /// account.
    account: Option<CString>,
    home: Option<PathBuf>,
}

impl Identity {
    /// Returns the user of `User` and `Group`. Returns `None` if the server keeps its user. An
    /// error is one line of text.
    pub fn of(site: &Site) -> Result<Option<Identity>, String> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let Some(user) = &site.process.user else {
            return match site.process.group {
                Some(_) => Err("Group needs User; expected `User NAME` too".into()),
                None => Ok(None),
            };
        };
        // If root starts the server, `User root` has no effect.
        let identity = Identity::named(user, site.process.group.as_deref())?;
        Ok((identity.user != 0).then_some(identity))
    }

    /// Returns the user and group with these names.
    pub fn named(user: &str, group: Option<&str>) -> Result<Identity, String> {
        let account = account(user)?;
        let group = match (group, &account) {
            (Some(group), _) => group_number(group)?,
            (None, Account { group: Some(group), .. }) => *group,
            (None, _) => {
                return Err(format!("User {user} has no account to take the group from; expected `Group NAME|#NUMBER` too"))
            }
        };
        Ok(Identity {
            user: account.user,
            group,
            account: account.name,
            home: account.home,
        })
    }

    /// Returns the user of a pool. `None`: the pool has the server's user, or the server is not
    /// started by root.
    pub fn of_pool(pool: &PerlPool) -> Result<Option<Identity>, Problem> {
        let Some(user) = &pool.user else {
            return Ok(None);
        };
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let identity = Identity::named(user, pool.group.as_deref());
        let identity = identity.map_err(|reason| pool.problem(reason))?;
        match identity.user {
            0 => Err(pool.problem(format!("User {user}: expected a user other than root"))),
            _ => Ok(Some(identity)),
        }
    }

    /// Returns the home folder of the account. A number without an account has `/`.
    pub fn home(&self) -> &Path {
        self.home.as_deref().unwrap_or(Path::new("/"))
    }

    /// Makes every thread run as this user from now on.
    pub fn assume(&self) -> Result<(), String> {
        let failed = |what: &str| {
            let error = io::Error::last_os_error();
            Err(format!("User and Group: {what}: {error}"))
        };
        let groups = match &self.account {
            // SAFETY: the name is a C string that lives through the call.
            Some(name) => unsafe { libc::initgroups(name.as_ptr(), self.group) },
            // SAFETY: the call reads one group, which exists.
            None => unsafe { libc::setgroups(1, &self.group) },
        };
        if groups != 0 {
            return failed("the groups cannot be set");
        }
        // SAFETY: the call takes only numbers.
        if unsafe { libc::setresgid(self.group, self.group, self.group) } != 0 {
            return failed("the group cannot be changed");
        }
        // SAFETY: the call takes only numbers.
        if unsafe { libc::setresuid(self.user, self.user, self.user) } != 0 {
            return failed("the user cannot be changed");
        }
        // SAFETY: the call takes only numbers. It must fail.
        if unsafe { libc::setresuid(0, 0, 0) } == 0 {
            return Err("User: the server could become root again, so it does not start".into());
        }
        // Workers have the same user and must not read the certificates' keys in the front's
        // memory. SAFETY: the call takes only numbers.
        if unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) } != 0 {
            return failed("the front's memory cannot be hidden from workers");
        }
        Ok(())
    }

    /// Makes the user the owner of the site's log files, so the server can open them again after
    /// USR1.
    pub fn take_logs(&self, site: &Site) -> Result<(), String> {
        for (_, path) in site.log_files() {
            self.take(path)
                .map_err(|error| format!("{} for `User`: {error}", path.display()))?;
        }
        Ok(())
    }

    /// Makes the user the owner of a log file. The file must belong to root and have a single name:
    /// no link may lead to another file.
    fn take(&self, path: &Path) -> io::Result<()> {
        let mut options = std::fs::OpenOptions::new();
        options
            .append(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let Ok(file) = options.open(path) else {
            return Ok(());
        };
        let meta = file.metadata()?;
        if meta.is_file() && meta.uid() == 0 && meta.nlink() == 1 {
            fchown(&file, Some(self.user), None)
        } else {
            Ok(())
        }
    }
}

struct Account {
    user: u32,
    group: Option<u32>,
    name: Option<CString>,
    home: Option<PathBuf>,
}

fn account(text: &str) -> Result<Account, String> {
    let number = number(text, "User")?;
    let name = CString::new(text).map_err(|_| format!("User {text:?} is not a name"))?;
    // SAFETY: only one thread of the server reads accounts, and the entry is read before the next
    // call.
    let entry = unsafe {
        match number {
            Some(number) => libc::getpwuid(number),
            None => libc::getpwnam(name.as_ptr()),
        }
        .as_ref()
    };
    match (entry, number) {
        (Some(entry), _) => Ok(Account {
            user: entry.pw_uid,
            group: Some(entry.pw_gid),
            // SAFETY: an entry's name is a C string.
            name: Some(unsafe { CStr::from_ptr(entry.pw_name) }.to_owned()),
            // SAFETY: so is its home folder.
            home: Some(path_of(unsafe { CStr::from_ptr(entry.pw_dir) })),
        }),
        (None, Some(user)) => Ok(Account {
            user,
            group: None,
            name: None,
            home: None,
        }),
        (None, None) => Err(format!(
            "User {text}: there is no such user; expected a name of /etc/passwd or #NUMBER"
        )),
    }
}

fn path_of(text: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(text.to_bytes()))
}

fn group_number(text: &str) -> Result<u32, String> {
    if let Some(number) = number(text, "Group")? {
        return Ok(number);
    }
    let name = CString::new(text).map_err(|_| format!("Group {text:?} is not a name"))?;
    // SAFETY: only one thread of the server reads groups, and the entry is read before the next
    // call.
    let entry = unsafe { libc::getgrnam(name.as_ptr()).as_ref() };
    entry.map(|entry| entry.gr_gid).ok_or_else(|| {
        format!("Group {text}: there is no such group; expected a name of /etc/group or #NUMBER")
    })
}

/// Parses `#NUMBER`. The highest number is refused, because it means "unchanged" to the kernel.
fn number(text: &str, directive: &str) -> Result<Option<u32>, String> {
    let Some(digits) = text.strip_prefix('#') else {
        return Ok(None);
    };
    match digits.parse::<u32>() {
        Ok(number) if number < u32::MAX => Ok(Some(number)),
        _ => Err(format!(
            "{directive} {text}: expected # and a number below {}",
            u32::MAX
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_found_by_name_and_number_and_other_words_are_refused() {
        assert_eq!(account("root").expect("root").user, 0);
        let stranger = account("#4000000").expect("any number");
        assert_eq!((stranger.user, stranger.group), (4_000_000, None));
        assert_eq!(group_number("#7"), Ok(7));
        for wrong in ["#", "#-1", "#4294967295", "#x", "no-such-account"] {
            assert!(account(wrong).is_err(), "{wrong}");
            assert!(group_number(wrong).is_err(), "{wrong}");
        }
    }
}
