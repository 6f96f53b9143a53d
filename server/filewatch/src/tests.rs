//! Tests which events invalidate a route and which do not.

use super::{CacheValidity, DependencyRecorder, FileWatcher};
use mehari_config::LogLevel;
use mehari_observe::{AccessEntry, Journal, Origin};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::Path;
use std::rc::Rc;

struct Silent;

impl Journal for Silent {
    fn access(&self, _: u32, _: &AccessEntry<'_>) {}
    fn error(&self, _: u32, _: LogLevel, _: Origin, _: &str) {}
}

fn watcher() -> FileWatcher {
    FileWatcher::new(Rc::new(Silent))
}

fn validity(watcher: &FileWatcher, path: &Path) -> Rc<CacheValidity> {
    let recorder = DependencyRecorder::new(watcher);
    recorder.stat(path.as_os_str().as_bytes());
    recorder.validity().expect("a file system that is watched")
}

/// Makes `folder/deep/real/file`, and `folder/link`, which leads to `deep/real`.
fn furnish(root: &Path) {
    fs::create_dir_all(root.join("deep/real")).expect("folders");
    fs::write(root.join("deep/real/file"), "text").expect("a file");
    fs::write(root.join("deep/real/other"), "text").expect("a file");
    symlink("deep/real", root.join("link")).expect("a link");
    symlink("../deep/real/file", root.join("deep/named")).expect("a link");
}

type Change = fn(&Path);

#[test]
fn a_change_of_a_dependency_invalidates_the_route() {
    let cases: [(&str, &str, Change); 15] = [
        ("written", "deep/real/file", |root| {
            fs::write(root.join("deep/real/file"), "TEXT").expect("written")
        }),
        ("replaced", "deep/real/file", |root| {
            fs::write(root.join("deep/real/new"), "new").expect("written");
            fs::rename(root.join("deep/real/new"), root.join("deep/real/file")).expect("moved")
        }),
        ("deleted", "deep/real/file", |root| {
            fs::remove_file(root.join("deep/real/file")).expect("gone")
        }),
        ("made", "deep/real/absent", |root| {
            fs::write(root.join("deep/real/absent"), "here").expect("written")
        }),
        (
            "made in a folder that was not there",
            "deep/none/absent",
            |root| fs::create_dir(root.join("deep/none")).expect("a folder"),
        ),
        ("locked", "deep/real/file", |root| {
            let mode = fs::Permissions::from_mode(0o600);
            fs::set_permissions(root.join("deep/real/file"), mode).expect("its mode")
        }),
        ("its folder moved", "deep/real/file", |root| {
            fs::rename(root.join("deep/real"), root.join("deep/away")).expect("moved")
        }),
        ("a folder above moved", "deep/real/file", |root| {
            fs::rename(root.join("deep"), root.join("away")).expect("moved")
        }),
        ("all deleted", "deep/real/file", |root| {
            fs::remove_dir_all(root.join("deep")).expect("gone")
        }),
        ("written behind a link", "link/file", |root| {
            fs::write(root.join("deep/real/file"), "TEXT").expect("written")
        }),
        ("the link to its folder turned", "link/file", |root| {
            symlink("deep", root.join("next")).expect("a link");
            fs::rename(root.join("next"), root.join("link")).expect("moved")
        }),
        ("a link to the file itself turned", "deep/named", |root| {
            fs::remove_file(root.join("deep/named")).expect("gone");
            symlink("../deep/real/other", root.join("deep/named")).expect("a link")
        }),
        ("what a link leads to written", "deep/named", |root| {
            fs::write(root.join("deep/real/file"), "TEXT").expect("written")
        }),
        (
            "a folder on the way of a link moved",
            "deep/named",
            |root| fs::rename(root.join("deep/real"), root.join("deep/away")).expect("moved"),
        ),
        ("a folder as such moved", "deep/real/", |root| {
            fs::rename(root.join("deep/real"), root.join("deep/away")).expect("moved")
        }),
    ];
    for (what, path, change) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        furnish(folder.path());
        let watcher = watcher();
        let validity = validity(&watcher, &folder.path().join(path));
        watcher.read_events();
        assert!(validity.holds(), "{what}: any_invalidated too early");
        change(folder.path());
        watcher.read_events();
        assert!(!validity.holds(), "{what}: holds");
        assert!(watcher.take_invalidated(), "{what}: not told");
    }
}

#[test]
fn a_file_written_through_a_hard_link_is_invalidated() {
    let folder = tempfile::tempdir().expect("a folder");
    let elsewhere = tempfile::tempdir().expect("another");
    furnish(folder.path());
    let file = folder.path().join("deep/real/file");
    fs::hard_link(&file, elsewhere.path().join("same")).expect("a second name");
    let watcher = watcher();
    let validity = validity(&watcher, &file);
    watcher.read_events();
    assert!(validity.holds());
    fs::write(elsewhere.path().join("same"), "TEXT").expect("written");
    watcher.read_events();
    assert!(!validity.holds());
}

#[test]
fn neighbours_do_not_invalidate_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    furnish(folder.path());
    let watcher = watcher();
    let one = validity(&watcher, &folder.path().join("deep/real/file"));
    let other = validity(&watcher, &folder.path().join("deep/real/other"));
    fs::write(folder.path().join("deep/real/other"), "TEXT").expect("written");
    fs::write(folder.path().join("deep/real/third"), "new").expect("written");
    watcher.read_events();
    assert!(one.holds() && !other.holds());
}

/// If a process holds a deleted folder open, no event comes. The search therefore checks the
/// folder's watch.
#[test]
fn a_recreated_folder_is_watched_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("place");
    fs::create_dir(&place).expect("a folder");
    let watcher = watcher();
    let before = validity(&watcher, &place.join("file"));
    let held = fs::File::open(&place).expect("held open");
    fs::remove_dir(&place).expect("gone");
    fs::create_dir(&place).expect("a folder");
    let again = validity(&watcher, &place.join("file"));
    watcher.read_events();
    assert!(again.holds());
    fs::write(place.join("file"), "text").expect("written");
    watcher.read_events();
    assert!(!again.holds());
    drop((held, before));
}

#[test]
fn clearing_invalidates_all_and_missing_paths_take_no_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    furnish(folder.path());
    let watcher = watcher();
    let one = validity(&watcher, &folder.path().join("deep/real/file"));
    let dependents = watcher.dependents.get();
    for number in 0..100 {
        let path = folder.path().join(format!("deep/real/none/{number}"));
        DependencyRecorder::new(&watcher).stat(path.as_os_str().as_bytes());
        let path = folder.path().join(format!("deep/real/{number}"));
        DependencyRecorder::new(&watcher).stat(path.as_os_str().as_bytes());
    }
    assert!(
        watcher.dependents.get() < dependents + 110,
        "{}",
        watcher.dependents.get()
    );
    assert!(watcher.ways.borrow().len() < 4);
    watcher.clear();
    assert!(!one.holds());
    let again = validity(&watcher, &folder.path().join("deep/real/file"));
    watcher.read_events();
    assert!(again.holds());
}

/// One folder has far more files than there are kept routes.
#[test]
fn names_without_a_dependent_route_are_forgotten() {
    let folder = tempfile::tempdir().expect("a folder");
    furnish(folder.path());
    let watcher = watcher();
    let kept = validity(&watcher, &folder.path().join("deep/real/file"));
    watcher.tidied_at.set(1000);
    for number in 0..1500 {
        validity(&watcher, &folder.path().join(format!("deep/real/{number}")));
    }
    let dependents = watcher.dependents.get();
    assert!(dependents < 1000, "{dependents}");
    watcher.read_events();
    assert!(kept.holds());
    fs::write(folder.path().join("deep/real/file"), "TEXT").expect("written");
    watcher.read_events();
    assert!(!kept.holds());
}

#[test]
fn a_single_file_depends_only_on_itself_and_its_path() {
    let changes: [(&str, bool, Change); 9] = [
        ("written", true, |root| {
            fs::write(root.join("deep/real/file"), "TEXT").expect("written")
        }),
        ("replaced", true, |root| {
            fs::rename(root.join("deep/real/other"), root.join("deep/real/file")).expect("moved")
        }),
        ("deleted", true, |root| {
            fs::remove_file(root.join("deep/real/file")).expect("gone")
        }),
        ("moved", true, |root| {
            fs::rename(root.join("deep/real/file"), root.join("deep/file")).expect("moved")
        }),
        ("locked", true, |root| {
            let mode = fs::Permissions::from_mode(0o600);
            fs::set_permissions(root.join("deep/real/file"), mode).expect("its mode")
        }),
        ("a folder above moved", true, |root| {
            fs::rename(root.join("deep"), root.join("away")).expect("moved")
        }),
        ("the link to its folder turned", true, |root| {
            symlink("deep", root.join("next")).expect("a link");
            fs::rename(root.join("next"), root.join("link")).expect("moved")
        }),
        ("a neighbour written", false, |root| {
            fs::write(root.join("deep/real/other"), "TEXT").expect("written")
        }),
        ("a neighbour made", false, |root| {
            fs::write(root.join("deep/real/new"), "new").expect("written")
        }),
    ];
    for (what, falls, change) in changes {
        let folder = tempfile::tempdir().expect("a folder");
        furnish(folder.path());
        let watcher = watcher();
        let path = |name: &str| folder.path().join(name).into_os_string().into_vec();
        let (validity, _) = watcher.depend_on_file(&path("link/file")).expect("a file");
        watcher.read_events();
        assert!(validity.holds(), "{what}: any_invalidated too early");
        for unfit in ["deep/named", "deep/real", "deep/none", "none/file"] {
            let found = watcher.depend_on_file(&path(unfit));
            assert!(found.is_none(), "{unfit}");
        }
        change(folder.path());
        watcher.read_events();
        assert_eq!(!validity.holds(), falls, "{what}");
    }
}

#[test]
fn a_file_of_proc_is_not_watched() {
    let watcher = watcher();
    let recorder = DependencyRecorder::new(&watcher);
    assert!(recorder.stat(b"/proc/self/status").is_some());
    assert!(recorder.validity().is_none());
    assert!(watcher.depend_on_file(b"/proc/self/status").is_none());
}
