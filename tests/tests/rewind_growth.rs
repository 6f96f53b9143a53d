//! Tests the rung `rewind` with memory that is mapped between the template's picture and the first
//! request of its child. No picture has this memory, so no rewind could restore it.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{Rung, Server};
use std::path::Path;
use std::process::Command;

/// Maps memory in each process that a fork makes, as a library's own malloc may do.
const LIBRARY: &str = "#include <pthread.h>
#include <sys/mman.h>
static void in_child(void) {
    mmap(0, 8 << 20, MODE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
__attribute__((constructor)) static void begin(void) { pthread_atfork(0, 0, in_child); }
";

fn build(at: &Path, mode: &str) {
    let source = at.with_extension("c");
    std::fs::write(&source, LIBRARY).expect("the source");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-pthread", "-D_GNU_SOURCE"])
        .arg(format!("-DMODE={mode}"))
        .arg("-o")
        .args([at, &source])
        .status();
    assert!(status.expect("cc").success());
}

/// The library is loaded before the picture, so only the fork of the child maps memory after it.
#[test]
fn process_with_memory_that_the_picture_lacks_serves_one_request() {
    for (mode, rung) in [
        ("PROT_READ|PROT_WRITE", "fork"),
        // No request can leave anything in memory that cannot be written.
        ("PROT_READ", "rewind"),
        ("PROT_NONE", "rewind"),
    ] {
        let builder = Server::builder();
        let library = builder.folder_of("mapping.so");
        build(&library, mode);
        let loads = format!(
            "require DynaLoader; DynaLoader::dl_load_file('{}', 0) or die DynaLoader::dl_error();",
            library.display()
        );
        let server = builder
            .ladder()
            .conf(&workers(1))
            .conf("PerlRequire @ROOT@/loads.pl\n")
            .env("MEHARI_REWIND_COMPARE", "1")
            .file("loads.pl", &loads)
            .file("scripts/counts.pl", &plain("our $n; print ++$n;"))
            .start();
        for _ in 0..4 {
            assert_eq!(server.get(&Rung::Rewind.url("counts.pl")).expect(200), "1");
        }
        let status = server.status();
        let told = &status["pool"]["scripts"][0];
        assert_eq!(told["rung"], rung, "{mode}: {told}");
        let grown = "runs as on the rung `fork`: the template's memory has grown";
        assert_eq!(server.log.count(grown), usize::from(rung == "fork"));
    }
}
