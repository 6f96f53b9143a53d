//! Makes the cgroup (v2) of `PerlPoolCgroup`, sets its values and joins it. See the kernel's
//! Documentation/admin-guide/cgroup-v2.rst.

use mehari_config::Cgroup;
use std::fs;
use std::path::{Path, PathBuf};

/// Joins the cgroup. An error is one line of text that begins with the directive.
pub fn join(cgroup: &Cgroup) -> Result<(), String> {
    let failed = |what: String| format!("PerlPoolCgroup {}: {what}", cgroup.path.display());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let hierarchy = mount_point(&mounts).ok_or_else(|| {
        failed("this machine has no cgroup v2; expected one that is mounted".into())
    })?;
    let folder = folder(&hierarchy, own_path(&own), &cgroup.path);
    let refused = |at: &Path, error: std::io::Error| {
        failed(format!(
            "{}: {error}; expected a cgroup that is delegated to the user who starts the server \
             (systemd: Delegate=yes)",
            at.display()
        ))
    };
    fs::create_dir_all(&folder).map_err(|error| refused(&folder, error))?;
    for (file, value) in &cgroup.values {
        let controller = file.split('.').next().unwrap_or_default();
        if !enable(&folder, controller) {
            return Err(failed(format!(
                "the controller `{controller}` of {file} is not enabled in {}; expected it in \
                 cgroup.subtree_control of the folder above",
                folder.display()
            )));
        }
        let path = folder.join(file);
        fs::write(&path, value).map_err(|error| refused(&path, error))?;
    }
    let members = folder.join("cgroup.procs");
    fs::write(&members, std::process::id().to_string()).map_err(|error| refused(&members, error))
}

/// Returns where the hierarchy of version 2 is mounted.
fn mount_point(mounts: &str) -> Option<PathBuf> {
    let mounted = mounts.lines().find_map(|line| {
        let (before, behind) = line.split_once(" - ")?;
        let is_v2 = behind.split(' ').next() == Some("cgroup2");
        before.split(' ').nth(4).filter(|_| is_v2)
    })?;
    Some(PathBuf::from(mounted))
}

/// Returns the path of this process's cgroup in the hierarchy.
fn own_path(cgroups: &str) -> &str {
    let mut lines = cgroups.lines();
    lines
        .find_map(|line| line.strip_prefix("0::"))
        .unwrap_or("/")
}

fn folder(hierarchy: &Path, own: &str, path: &Path) -> PathBuf {
    let below = match path.strip_prefix("/") {
        Ok(absolute) => absolute.to_owned(),
        Err(_) => Path::new(own.trim_start_matches('/')).join(path),
    };
    hierarchy.join(below)
}

/// Whether the cgroup has the controller. Tries to enable it in the cgroup above.
fn enable(folder: &Path, controller: &str) -> bool {
    let has = || {
        let enabled = fs::read_to_string(folder.join("cgroup.controllers")).unwrap_or_default();
        enabled.split_whitespace().any(|known| known == controller)
    };
    if controller == "cgroup" || has() {
        return true;
    }
    let above = folder.parent().unwrap_or(folder);
    // The cgroup above refuses this if it has processes of its own.
    let _ = fs::write(
        above.join("cgroup.subtree_control"),
        format!("+{controller}"),
    );
    has()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_lies_in_the_hierarchy_of_version_2() {
        let mounts = "24 1 0:22 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      25 1 0:23 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
        let hierarchy = mount_point(mounts).expect("one is mounted");
        assert_eq!(hierarchy, Path::new("/sys/fs/cgroup/unified"));
        assert_eq!(mount_point("24 1 0:22 / /sys rw - sysfs sysfs rw\n"), None);
        let own = own_path("9:pids:/x\n0::/system.slice/mehari.service\n");
        for (path, expected) in [
            ("shop", "system.slice/mehari.service/shop"),
            ("/shop/a", "shop/a"),
        ] {
            let folder = folder(&hierarchy, own, Path::new(path));
            assert_eq!(folder, hierarchy.join(expected));
        }
    }
}
