//! Tests tests/lib/Emulation.pm, with which `make packages ARCH=arm64` and its like run programs of
//! another processor.

use mehari_harness::needs_machine;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Instructions of arm64: exit_group(42), which is system call 94.
const EXIT_42: [u32; 3] = [0xd280_0540, 0xd280_0bc8, 0xd400_0001];
const ADDRESS: u64 = 0x40_0000;
const HEADS: u64 = 64 + 56;

/// Returns a static program for arm64: a header, one loaded segment and the instructions (elf(5)).
fn program() -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let size = HEADS + 4 * EXIT_42.len() as u64;
    for half in [2u16, 183] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1u32.to_le_bytes());
    for word in [ADDRESS + HEADS, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 0, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    for word in [1u32, 5] {
        file.extend(word.to_le_bytes());
    }
    for word in [0, ADDRESS, ADDRESS, size, size, 0x1_0000] {
        file.extend(word.to_le_bytes());
    }
    for instruction in EXIT_42 {
        file.extend(instruction.to_le_bytes());
    }
    file
}

fn module() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("lib/Emulation.pm")
}

/// Returns what the module names as the obstacle on this machine.
fn obstacle(machine: &str) -> String {
    let said = Command::new("perl")
        .args(["-e", "require shift; print Emulation::obstacle(shift)"])
        .arg(module())
        .arg(machine)
        .output()
        .expect("perl starts");
    assert!(said.status.success(), "{said:?}");
    String::from_utf8(said.stdout).expect("text")
}

#[test]
fn program_of_another_processor_runs_in_the_namespace_and_not_outside() {
    needs_machine!(
        cfg!(target_arch = "x86_64"),
        "the program is of this processor"
    );
    let reason = obstacle("arm64");
    needs_machine!(reason.is_empty(), &reason);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("exit-42");
    std::fs::write(&path, program()).expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");

    // A machine may have registered an emulator for all of its programs.
    let runs_outside = || Command::new(&path).output().is_ok();
    let ran_before = runs_outside();
    let inside = Command::new("perl")
        .arg(module())
        .arg("arm64")
        .arg(&path)
        .output();
    let inside = inside.expect("perl starts");
    assert_eq!(inside.status.code(), Some(42), "{inside:?}");
    assert_eq!(
        runs_outside(),
        ran_before,
        "the emulator is registered for all"
    );
}

#[test]
fn unknown_processor_is_an_obstacle() {
    assert_eq!(obstacle("vax"), "expected one of arm64, not vax");
}
