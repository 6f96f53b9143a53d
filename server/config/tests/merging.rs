//! Tests which sections apply to a request, their order, and the cost of a lookup.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use mehari_config::{Handler, Rung, Site};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which also counts the allocations of each thread.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged, and the counter allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller guarantees what the system's allocator requires of `layout`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn load(text: &str) -> Site {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("httpd.conf");
    std::fs::write(&file, text).expect("written");
    match Site::load(&file, &[]) {
        Ok(site) => site,
        Err(problems) => panic!("{problems}"),
    }
}

const MIXED: &str = "\
    <Location /a>\nPerlSetVar Last location\n</Location>\n\
    <Files x.pl>\nPerlSetVar Last files\n</Files>\n\
    <DirectoryMatch \"/deep/\">\nPerlSetVar Last match\n</DirectoryMatch>\n\
    <Directory /srv/www/deep>\nPerlSetVar Last long\n<Files y.pl>\nPerlSetVar Last nested\n</Files>\n</Directory>\n\
    <Directory /srv>\nPerlSetVar Last short\n</Directory>\n\
    <LocationMatch \"\\.cgi$\">\nSetHandler cgi-script\n</LocationMatch>\n\
    <Files \"*.pl\">\nPerlAddVar Last pattern\n</Files>\n";

#[test]
fn sections_are_merged_in_apaches_order_whatever_the_file_order() {
    let site = load(MIXED);
    let last = |url: &str, file: &str| {
        let settings = site.main.settings(url, Some(Path::new(file)));
        settings
            .programs
            .set_var
            .first()
            .map_or(String::new(), |(_, values)| values.join(" "))
    };
    assert_eq!(last("/", "/etc/passwd"), "");
    assert_eq!(last("/", "/srv/file"), "short");
    assert_eq!(last("/", "/srv/www/deep"), "long");
    assert_eq!(last("/", "/srv/www/deep/file"), "match");
    assert_eq!(last("/", "/srv/www/deep/y.pl"), "nested");
    assert_eq!(last("/", "/srv/x.pl"), "files pattern");
    assert_eq!(last("/a/x", "/srv/x.pl"), "location");
    let settings = site.main.settings("/x.cgi", Some(Path::new("/srv/x")));
    assert_eq!(settings.handlers.set, Some(Handler::Script(Rung::Cgi)));
}

#[test]
fn a_request_without_a_file_matches_locations_only() {
    let site = load(MIXED);
    assert_eq!(
        site.main.settings("/a", None).programs.set_var[0].1,
        ["location"]
    );
    assert!(site.main.settings("/b", None).programs.set_var.is_empty());
}

#[test]
fn equal_settings_share_one_id_and_different_ones_do_not() {
    let site = load(
        "<Location /a>\nSetEnv X 1\n</Location>\n<Location /b>\nSetEnv X 1\n</Location>\n<Location /c>\nSetEnv X 2\n</Location>\n",
    );
    let of = |url| site.main.settings(url, None);
    assert!(Arc::ptr_eq(&of("/a"), &of("/b")));
    assert!(Arc::ptr_eq(&of("/a/deeper"), &of("/a")));
    let mut ids = vec![of("/").id, of("/a").id, of("/c").id];
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn a_repeated_lookup_allocates_nothing() {
    let site = load(MIXED);
    let file = Path::new("/srv/www/deep/x.pl");
    site.main.settings("/a/x.cgi", Some(file));
    let before = ALLOCATIONS.with(Cell::get);
    for _ in 0..1000 {
        std::hint::black_box(site.main.settings("/a/x.cgi", Some(file)));
    }
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0);
}

#[test]
fn more_than_64_sections_are_distinguished() {
    let mut text = String::new();
    for number in 0..3000 {
        text.push_str(&format!(
            "<Location /n{number}>\nPerlSetVar N {number}\n</Location>\n"
        ));
    }
    let site = load(&text);
    for number in [0, 63, 64, 1023, 1024, 2999] {
        let settings = site.main.settings(&format!("/n{number}"), None);
        assert_eq!(settings.programs.set_var[0].1, [number.to_string()]);
    }
    assert!(site
        .main
        .settings("/other", None)
        .programs
        .set_var
        .is_empty());
}

#[test]
fn many_threads_can_look_up_settings_at_once() {
    let site = Arc::new(load(MIXED));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let site = site.clone();
            std::thread::spawn(move || {
                let file = Path::new("/srv/x.pl");
                (0..500)
                    .map(|_| site.main.settings("/a", Some(file)).id)
                    .max()
            })
        })
        .collect();
    let ids: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().expect("no panic"))
        .collect();
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn settings_are_send_and_sync() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Site>();
}
