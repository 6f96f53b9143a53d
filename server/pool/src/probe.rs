//! What the front does with a record a worker wrote, as a function over bytes: for the fuzzer.

use crate::deliver;
use crate::exchange::Arrived;
use mehari_wire::Record;
use std::time::Instant;

/// Takes one record of this kind and detail. `Err`: why the worker would be replaced.
pub fn record(kind: u16, detail: u16, tapped: bool, payload: &[u8]) -> Result<(), &'static str> {
    let mut arrived = Arrived::nothing(Instant::now());
    arrived.tapped = tapped;
    let record = Record {
        kind,
        detail,
        length: payload.len(),
        size: 0,
    };
    deliver::take(&mut arrived, record, payload).map_err(|broken| broken.0)?;
    if let Some(crate::script_head::ScriptHead::Response(head)) = &arrived.head {
        assert!((200..=599).contains(&head.status), "status {}", head.status);
        assert!(
            head.lines.is_empty() || head.lines.ends_with(b"\r\n"),
            "header lines without their end"
        );
        let text = head.lines.strip_suffix(b"\r\n").unwrap_or(&head.lines);
        for line in text.split(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            assert!(
                !line.contains(&b'\r') && !line.contains(&0),
                "a line that splits"
            );
            assert!(
                line.is_empty() || line.contains(&b':'),
                "a line that is no field"
            );
        }
    }
    Ok(())
}
