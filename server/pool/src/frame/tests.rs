//! Tests `is_sound` with frames that a worker has overwritten.

use super::*;
use crate::{
    AccessResult, ConnectionFacts, MappedPath, PerlSettings, RequestLine, ScriptEnvironment,
    TimeLimits,
};
use mehari_config::TeamMark;

const ID: u64 = 77;

fn frame() -> Vec<u8> {
    let mut slot = vec![0; SLOT_SIZE];
    let call = Call {
        task: Task::Script {
            rung: Rung::Registry,
            file: b"/srv/scripts/page.pl",
        },
        line: RequestLine {
            method: b"POST",
            target: b"/page.pl?a=1",
            query: b"a=1",
            protocol: b"HTTP/1.1",
        },
        path: MappedPath {
            script_name: b"/page.pl",
            path_info: b"",
            path_translated: b"",
            document_root: b"/srv/htdocs",
            media_type: b"",
            coding: b"",
            languages: b"",
            folder: b"",
            folder_file: b"",
            folder_settings: b"",
            file_mark: 0,
            has_includes: false,
        },
        connection: ConnectionFacts {
            scheme: b"http",
            server_name: b"example.org",
            server_port: 80,
            server_addr: b"192.0.2.1",
            remote_addr: b"192.0.2.2",
            remote_port: 4000,
            number: 1,
            kept: 0,
        },
        fields: &[(b"Host", b"example.org"), (b"Cookie", b"a=b")],
        environment: ScriptEnvironment {
            variables: &[(b"SITE", b"one")],
            set_env_count: 0,
            perl_set_env_count: 0,
            parse_headers: true,
            cgi_world: true,
        },
        settings: PerlSettings::default(),
        access: AccessResult {
            status: 0,
            known: 0,
            login: &crate::Login::Unasked,
            challenge: b"",
        },
        led: Default::default(),
        server: 0,
        team: TeamMark::default(),
        timeout: TimeLimits::default(),
        log_level: None,
        request_id: ID,
        body: Body::Memory(b"a body"),
        trace: None,
    };
    let length = encode(&call, &mut slot).expect("it fits");
    slot.truncate(length);
    slot
}

#[test]
fn an_unchanged_frame_is_sound() {
    assert!(is_sound(&frame(), ID, None));
    assert!(!is_sound(&frame(), ID + 1, None), "of another request");
    assert!(!is_sound(&frame()[..40], ID, None), "cut off");
}

/// Overwrites each word in turn. If the frame still counts as sound, every part lies within it.
#[test]
fn no_part_of_a_sound_frame_lies_outside_of_the_frame() {
    let whole = frame();
    for at in (0..whole.len() - 4).step_by(4) {
        for word in [u32::MAX, 0x7fff_ffff, whole.len() as u32, 0] {
            let mut frame = whole.clone();
            frame[at..at + 4].copy_from_slice(&word.to_ne_bytes());
            if !is_sound(&frame, ID, None) {
                continue;
            }
            let request = read_request(&frame).expect("the frame is long enough");
            for span in request.text.iter().chain([&request.body]) {
                let end = span.offset as usize + span.length as usize;
                assert!(end <= frame.len(), "word {at}");
            }
            assert_ne!(request.body_kind, BodyKind::File as u8);
            assert!(asker(&frame).is_some(), "word {at}");
        }
    }
}
