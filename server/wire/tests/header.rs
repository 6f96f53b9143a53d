//! Compares `perl/xs/mailbox/wire.h` with `layout.rs`: a C program prints the values of the header.

use mehari_wire::layout::{
    self, control, flag, record, Control, Mailbox, Pair, RecordHeader, Request, Scoreboard,
};
use std::mem::{offset_of, size_of};
use std::process::Command;

/// Returns C expressions with their values in Rust.
fn expectations() -> Vec<(&'static str, usize)> {
    let scoreboard = offset_of!(Mailbox, scoreboard);
    vec![
        ("MEHARI_MAGIC", layout::MAGIC as usize),
        ("MEHARI_VERSION", layout::VERSION as usize),
        ("MEHARI_SLOTS", layout::SLOTS as usize),
        ("MEHARI_SLOT_SIZE", layout::SLOT_SIZE),
        ("MEHARI_SLOTS_OFFSET", layout::SLOTS_OFFSET),
        ("MEHARI_RING_SIZE", layout::RING_SIZE),
        ("MEHARI_RING_OFFSET", layout::RING_OFFSET),
        ("MEHARI_ANSWER_OFFSET", layout::ANSWER_OFFSET),
        ("MEHARI_ANSWER_SIZE", layout::ANSWER_SIZE),
        ("MEHARI_MAILBOX_SIZE", layout::MAILBOX_SIZE),
        ("MEHARI_RECORD_LIMIT", layout::RECORD_LIMIT),
        ("MEHARI_CONTROL_TEXT", layout::CONTROL_TEXT),
        ("offsetof(mehari_mailbox, word)", offset_of!(Mailbox, word)),
        (
            "offsetof(mehari_mailbox, worker_sleeps)",
            offset_of!(Mailbox, worker_sleeps),
        ),
        (
            "offsetof(mehari_mailbox, ring_written)",
            offset_of!(Mailbox, ring_written),
        ),
        (
            "offsetof(mehari_mailbox, ring_read)",
            offset_of!(Mailbox, ring_read),
        ),
        (
            "offsetof(mehari_mailbox, worker_waits_for_room)",
            offset_of!(Mailbox, worker_waits_for_room),
        ),
        (
            "offsetof(mehari_mailbox, state)",
            scoreboard + offset_of!(Scoreboard, state),
        ),
        (
            "offsetof(mehari_mailbox, request_id)",
            scoreboard + offset_of!(Scoreboard, request_id),
        ),
        (
            "offsetof(mehari_mailbox, finished)",
            scoreboard + offset_of!(Scoreboard, finished),
        ),
        (
            "offsetof(mehari_mailbox, child)",
            scoreboard + offset_of!(Scoreboard, child),
        ),
        (
            "offsetof(mehari_mailbox, progress)",
            offset_of!(Mailbox, progress),
        ),
        (
            "offsetof(mehari_mailbox, answered)",
            offset_of!(Mailbox, answered),
        ),
        (
            "offsetof(mehari_mailbox, inspection)",
            offset_of!(Mailbox, inspection),
        ),
        ("MEHARI_INSPECTION_OFFSET", layout::INSPECTION_OFFSET),
        ("MEHARI_INSPECTION_SIZE", layout::INSPECTION_SIZE),
        ("sizeof(mehari_request)", size_of::<Request>()),
        ("offsetof(mehari_request, task)", offset_of!(Request, task)),
        (
            "offsetof(mehari_request, body_kind)",
            offset_of!(Request, body_kind),
        ),
        (
            "offsetof(mehari_request, request_id)",
            offset_of!(Request, request_id),
        ),
        (
            "offsetof(mehari_request, body_length)",
            offset_of!(Request, body_length),
        ),
        (
            "offsetof(mehari_request, connection)",
            offset_of!(Request, connection),
        ),
        ("offsetof(mehari_request, kept)", offset_of!(Request, kept)),
        (
            "offsetof(mehari_request, login)",
            offset_of!(Request, login),
        ),
        (
            "offsetof(mehari_request, file_mark)",
            offset_of!(Request, file_mark),
        ),
        (
            "mehari_file_mark(64769, 7, 1 << 20, 1700000000, 999999999)",
            layout::file_mark([64769, 7, 1 << 20, 1_700_000_000, 999_999_999]) as usize,
        ),
        (
            "offsetof(mehari_request, known)",
            offset_of!(Request, known),
        ),
        ("*MEHARI_LOG_MARK", layout::LOG_MARK.into()),
        ("MEHARI_TEXT_USER", layout::Text::User as usize),
        ("MEHARI_TEXT_CHALLENGE", layout::Text::Challenge as usize),
        ("MEHARI_TEXT_FOLDER", layout::Text::Folder as usize),
        ("MEHARI_TEXT_FOLDER_FILE", layout::Text::FolderFile as usize),
        (
            "MEHARI_TEXT_FOLDER_SETTINGS",
            layout::Text::FolderSettings as usize,
        ),
        ("MEHARI_TEXT_CODING", layout::Text::Coding as usize),
        ("MEHARI_TEXT_LANGUAGES", layout::Text::Languages as usize),
        (
            "MEHARI_TEXT_PATH_TRANSLATED",
            layout::Text::PathTranslated as usize,
        ),
        (
            "MEHARI_LOGIN_NO_USER_FILE",
            layout::login::NO_USER_FILE.into(),
        ),
        ("MEHARI_LOGIN_NAMED", layout::login::NAMED.into()),
        ("MEHARI_LOGIN_SETTLED", layout::login::SETTLED.into()),
        (
            "offsetof(mehari_request, traced)",
            offset_of!(Request, traced),
        ),
        ("offsetof(mehari_request, body)", offset_of!(Request, body)),
        (
            "offsetof(mehari_request, field_count)",
            offset_of!(Request, field_count),
        ),
        (
            "offsetof(mehari_request, server_port)",
            offset_of!(Request, server_port),
        ),
        ("offsetof(mehari_request, text)", offset_of!(Request, text)),
        ("MEHARI_TEXT_COUNT", layout::TEXT_COUNT),
        ("MEHARI_TEXT_SETTINGS", layout::Text::Settings as usize),
        (
            "offsetof(mehari_request, settings_id)",
            offset_of!(Request, settings_id),
        ),
        (
            "offsetof(mehari_request, access_status)",
            offset_of!(Request, access_status),
        ),
        (
            "offsetof(mehari_request, redirect_status)",
            offset_of!(Request, redirect_status),
        ),
        (
            "offsetof(mehari_request, depth)",
            offset_of!(Request, depth),
        ),
        (
            "offsetof(mehari_request, server)",
            offset_of!(Request, server),
        ),
        (
            "MEHARI_TEXT_DOCUMENT_ROOT",
            layout::Text::DocumentRoot as usize,
        ),
        ("sizeof(mehari_pair)", size_of::<Pair>()),
        ("sizeof(mehari_record)", size_of::<RecordHeader>()),
        ("sizeof(mehari_control)", size_of::<Control>()),
        ("MEHARI_TASK_PSGI", layout::TaskKind::Psgi as usize),
        ("MEHARI_TASK_FRONT", layout::TaskKind::Front as usize),
        ("MEHARI_TASK_REWIND", layout::TaskKind::Rewind as usize),
        ("MEHARI_TASK_AUTO", layout::TaskKind::Auto as usize),
        ("MEHARI_TASK_DEFERRED", layout::TaskKind::Deferred as usize),
        ("MEHARI_RECORD_RUNG", record::RUNG.into()),
        ("MEHARI_RECORD_FETCH", record::FETCH.into()),
        ("MEHARI_RECORD_MODULES", record::MODULES.into()),
        ("MEHARI_RECORD_PART", record::PART.into()),
        ("MEHARI_RECORD_DEFER", record::DEFER.into()),
        ("MEHARI_DEFER_CALL", record::DEFER_CALL.into()),
        ("MEHARI_DEFER_KEPT", record::DEFER_KEPT.into()),
        ("MEHARI_DEFER_BEGUN", record::DEFER_BEGUN.into()),
        ("MEHARI_DEFER_DONE", record::DEFER_DONE.into()),
        ("MEHARI_DEFER_FAILED", record::DEFER_FAILED.into()),
        ("MEHARI_DEFER_REFUSED", record::DEFER_REFUSED.into()),
        ("MEHARI_PART_SCRIPT", layout::part::SCRIPT.into()),
        ("MEHARI_PART_CLEANUP", layout::part::CLEANUP.into()),
        ("sizeof(mehari_part)", size_of::<layout::PartHeader>()),
        (
            "offsetof(mehari_part, rows)",
            offset_of!(layout::PartHeader, rows),
        ),
        (
            "offsetof(mehari_part, pid)",
            offset_of!(layout::PartHeader, pid),
        ),
        ("MEHARI_FETCH_BODY", record::FETCH_BODY.into()),
        ("MEHARI_FETCH_FOLLOWS", record::FETCH_FOLLOWS.into()),
        ("MEHARI_BODY_FILE", layout::BodyKind::File as usize),
        ("MEHARI_FLAG_PARSE_HEADERS", flag::PARSE_HEADERS.into()),
        ("MEHARI_FLAG_PERL_SCRIPT", flag::PERL_SCRIPT.into()),
        ("MEHARI_FLAG_CGI_WORLD", flag::CGI_WORLD.into()),
        ("MEHARI_FLAG_HEAD", flag::HEAD.into()),
        ("MEHARI_FLAG_PROGRAM", flag::PROGRAM.into()),
        ("MEHARI_FLAG_FILE", flag::FILE.into()),
        ("MEHARI_FLAG_REWOUND", flag::REWOUND.into()),
        ("MEHARI_RECORD_RESPONSE", record::RESPONSE.into()),
        ("MEHARI_RECORD_DONE", record::DONE.into()),
        ("MEHARI_RECORD_PASS", record::PASS.into()),
        ("MEHARI_RECORD_ASK", record::ASK.into()),
        ("MEHARI_RECORD_USER", record::USER.into()),
        ("MEHARI_RECORD_CHANGED", record::CHANGED.into()),
        ("MEHARI_RECORD_RULES", record::RULES.into()),
        ("MEHARI_RECORD_LOGGED", record::LOGGED.into()),
        (
            "offsetof(mehari_request, includes)",
            offset_of!(Request, includes),
        ),
        (
            "offsetof(mehari_request, visit)",
            offset_of!(Request, visit),
        ),
        ("MEHARI_RECORD_PAGE", record::PAGE.into()),
        ("sizeof(mehari_page_step)", 4),
        ("offsetof(mehari_page_step, depth)", 1),
        ("offsetof(mehari_page_step, status)", 2),
        ("MEHARI_PAGE_BEGIN", layout::page::BEGIN.into()),
        ("MEHARI_PAGE_INCLUDED", layout::page::INCLUDED.into()),
        ("MEHARI_PAGE_GO_ON", layout::page::GO_ON.into()),
        ("MEHARI_PAGE_PRINT", layout::page::PRINT.into()),
        ("MEHARI_PAGE_SET", layout::page::SET.into()),
        ("MEHARI_PAGE_RUN", layout::page::RUN.into()),
        ("MEHARI_PAGE_RESPOND", layout::page::RESPOND.into()),
        ("MEHARI_PAGE_HEAD", layout::page::HEAD.into()),
        ("MEHARI_PAGE_LEAD", layout::page::LEAD.into()),
        ("MEHARI_PAGE_END", layout::page::END.into()),
        ("MEHARI_PAGE_PLAIN", layout::page::PLAIN.into()),
        ("MEHARI_LOGGED_NOW", record::LOGGED_NOW.into()),
        ("MEHARI_LOGGED_LATER", record::LOGGED_LATER.into()),
        ("MEHARI_LOGGED_LAST", record::LOGGED_LAST.into()),
        ("MEHARI_LEFT_VARIABLES", layout::left::VARIABLES.into()),
        ("MEHARI_LEFT_ACCESS", layout::left::ACCESS.into()),
        ("MEHARI_LEFT_FIXUPS", layout::left::FIXUPS.into()),
        (
            "MEHARI_LEFT_AUTHORIZATION",
            layout::left::AUTHORIZATION.into(),
        ),
        ("MEHARI_LEFT_READ", layout::left::READ.into()),
        ("MEHARI_LEFT_TRANSLATION", layout::left::TRANSLATION.into()),
        ("MEHARI_LEFT_STORAGE", layout::left::STORAGE.into()),
        ("MEHARI_LEFT_LIMITS", layout::left::LIMITS.into()),
        ("MEHARI_FIXUPS_GO_ON", layout::fixups::GO_ON.into()),
        ("MEHARI_FIXUPS_HAND_BACK", layout::fixups::HAND_BACK.into()),
        ("MEHARI_FIXUPS_ELSEWHERE", layout::fixups::ELSEWHERE.into()),
        ("MEHARI_PASS_LINES", record::PASS_LINES.into()),
        ("MEHARI_PASS_FILE", record::PASS_FILE.into()),
        ("MEHARI_PASS_TYPE", record::PASS_TYPE.into()),
        ("MEHARI_PASS_DOCUMENT", record::PASS_DOCUMENT.into()),
        ("MEHARI_PASS_HANDLER", record::PASS_HANDLER.into()),
        ("MEHARI_PASS_TARGET", record::PASS_TARGET.into()),
        ("MEHARI_PASS_MOVED", record::PASS_MOVED.into()),
        ("MEHARI_PASS_LISTENS", record::PASS_LISTENS.into()),
        ("MEHARI_PASS_USER", record::PASS_USER.into()),
        ("MEHARI_PASS_NOTES", record::PASS_NOTES.into()),
        ("MEHARI_PASS_METHOD", record::PASS_METHOD.into()),
        ("MEHARI_PASS_NUMBERED", record::PASS_NUMBERED.into()),
        ("MEHARI_PASS_ORIGIN", record::PASS_ORIGIN.into()),
        ("MEHARI_PASS_WITHIN", record::PASS_WITHIN.into()),
        ("MEHARI_PASS_HANDLED", record::PASS_HANDLED.into()),
        ("MEHARI_PASS_REDIRECTED", record::PASS_REDIRECTED.into()),
        ("MEHARI_PASS_STATUS", record::PASS_STATUS.into()),
        ("MEHARI_PASS_ANSWERED", record::PASS_ANSWERED.into()),
        (
            "sizeof(mehari_outcome_frame)",
            size_of::<layout::OutcomeFrame>(),
        ),
        (
            "offsetof(mehari_outcome_frame, bytes)",
            offset_of!(layout::OutcomeFrame, bytes),
        ),
        ("MEHARI_END_BROKEN", record::END_BROKEN.into()),
        ("MEHARI_END_DETACHED", record::END_DETACHED.into()),
        ("MEHARI_TAP_PARSE", record::TAP_PARSE.into()),
        ("MEHARI_DONE_RETIRE", record::DONE_RETIRE.into()),
        ("MEHARI_DONE_AGAIN", record::DONE_AGAIN.into()),
        ("MEHARI_DONE_REPLACE", record::DONE_REPLACE.into()),
        ("MEHARI_CONTROL_PRELOAD", control::PRELOAD as usize),
        ("MEHARI_CONTROL_LOADED", control::LOADED as usize),
        ("MEHARI_CONTROL_SERVER", control::SERVER as usize),
        ("MEHARI_PRELOAD_MODULE", control::MODULE as usize),
        ("MEHARI_PRELOAD_HANDLER", control::HANDLER as usize),
        ("MEHARI_PRELOAD_SECTION", control::SECTION as usize),
        ("MEHARI_PRELOAD_LEARNED", control::LEARNED as usize),
    ]
}

#[test]
fn the_c_header_and_the_rust_layout_are_equal() {
    let expectations = expectations();
    let mut program = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include \"wire.h\"\nint main(void) {\n",
    );
    for (expression, _) in &expectations {
        program.push_str(&format!("  printf(\"%zu\\n\", (size_t)({expression}));\n"));
    }
    program.push_str("  return 0;\n}\n");
    let folder = std::env::temp_dir().join(format!("mehari-wire-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let source = folder.join("print.c");
    std::fs::write(&source, program).expect("the program is written");
    let binary = folder.join("print");
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../../perl/xs/mailbox");
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-I", header, "-o"])
        .args([&binary, &source])
        .status()
        .expect("a C compiler");
    assert!(compiled.success(), "wire.h compiles");
    let printed = Command::new(&binary)
        .output()
        .expect("the program runs")
        .stdout;
    let _ = std::fs::remove_dir_all(&folder);
    let values: Vec<usize> = String::from_utf8_lossy(&printed)
        .lines()
        .map(|line| line.parse().expect("a number"))
        .collect();
    assert_eq!(values.len(), expectations.len());
    for ((expression, expected), got) in expectations.iter().zip(values) {
        assert_eq!(got, *expected, "{expression}");
    }
}
