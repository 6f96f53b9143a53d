//! Reads the parts of a traced request's time from a worker's records. The worker is not trusted.

use crate::payload::Broken;
use mehari_observe::trace::PerlPart;
use mehari_wire::layout::{part as kinds, PartHeader};
use std::mem::size_of;

/// The longest name of a part in bytes, as the worker cuts it.
const LONGEST_NAME: usize = 4096;

/// Reads the payload of a `PART` record.
pub fn part(kind: u16, payload: &[u8]) -> Result<PerlPart, Broken> {
    const WRONG: Broken = Broken("an impossible part of a timeline");
    let kind = kind_name(kind).ok_or(WRONG)?;
    let (numbers, name) = payload
        .split_at_checked(size_of::<PartHeader>())
        .ok_or(WRONG)?;
    let part = numbers_of(numbers).ok_or(WRONG)?;
    let (driver, name) = match memchr::memchr(0, name) {
        Some(end) if kind == "statement" => (Some(&name[..end]), &name[end + 1..]),
        _ => (None, name),
    };
    let took = part.until.checked_sub(part.from).ok_or(WRONG)?;
    if part.busy > took || part.count == 0 || name.len() > LONGEST_NAME {
        return Err(WRONG);
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(PerlPart {
        kind,
        name: text(name),
        driver: driver.map(text),
        from: part.from,
        until: part.until,
        busy: part.busy,
        count: part.count,
        rows: (part.rows != kinds::NO_ROWS).then_some(part.rows),
        pid: part.pid,
    })
}

fn kind_name(kind: u16) -> Option<&'static str> {
    Some(match kind {
        kinds::REQUEST => "request",
        kinds::ORDER => "order",
        kinds::HANDLER => "handler",
        kinds::SCRIPT => "script",
        kinds::COMPILE => "compile",
        kinds::LOAD => "load",
        kinds::SUBREQUEST => "sub-request",
        kinds::STATEMENT => "statement",
        kinds::CLEANUP => "cleanup",
        _ => return None,
    })
}

fn numbers_of(bytes: &[u8]) -> Option<PartHeader> {
    let (longs, shorts) = bytes.split_at_checked(32)?;
    let mut longs = longs.chunks_exact(8).map_while(|it| it.try_into().ok());
    let mut shorts = shorts.chunks_exact(4).map_while(|it| it.try_into().ok());
    let mut long = || longs.next().map(u64::from_ne_bytes);
    let mut short = || shorts.next().map(u32::from_ne_bytes);
    Some(PartHeader {
        from: long()?,
        until: long()?,
        busy: long()?,
        rows: long()?,
        count: short()?,
        pid: short()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(part: PartHeader, name: &[u8]) -> Vec<u8> {
        let longs = [part.from, part.until, part.busy, part.rows];
        let shorts = [part.count, part.pid];
        let longs = longs.iter().flat_map(|number| number.to_ne_bytes());
        let shorts = shorts.iter().flat_map(|number| number.to_ne_bytes());
        longs.chain(shorts).chain(name.iter().copied()).collect()
    }

    const SOUND: PartHeader = PartHeader {
        from: 10,
        until: 30,
        busy: 15,
        rows: 2,
        count: 3,
        pid: 4711,
    };

    #[test]
    fn part_is_read_with_its_name() {
        let read = part(kinds::STATEMENT, &payload(SOUND, b"fetch: SELECT \xff"));
        let read = read.expect("a sound part");
        assert_eq!(
            (read.kind, &*read.name),
            ("statement", "fetch: SELECT \u{fffd}")
        );
        assert_eq!((read.from, read.until, read.busy), (10, 30, 15));
        assert_eq!((read.rows, read.count, read.pid), (Some(2), 3, 4711));
        assert_eq!(read.driver, None);
        let read = part(kinds::STATEMENT, &payload(SOUND, b"SQLite\0do: SELECT"));
        let read = read.expect("a sound part");
        assert_eq!(
            (read.driver.as_deref(), &*read.name),
            (Some("SQLite"), "do: SELECT")
        );
        let read = part(kinds::LOAD, &payload(SOUND, b"a\0b")).expect("a sound part");
        assert_eq!((read.driver, &*read.name), (None, "a\0b"));
    }

    #[test]
    fn part_that_no_sound_worker_sends_is_refused() {
        let long = vec![b'x'; LONGEST_NAME + 1];
        let cases = [
            (0, payload(SOUND, b"")),
            (10, payload(SOUND, b"")),
            (kinds::LOAD, payload(SOUND, b"")[..39].to_vec()),
            (kinds::LOAD, payload(SOUND, &long)),
            (kinds::LOAD, payload(PartHeader { until: 9, ..SOUND }, b"")),
            (kinds::LOAD, payload(PartHeader { busy: 21, ..SOUND }, b"")),
            (kinds::LOAD, payload(PartHeader { count: 0, ..SOUND }, b"")),
        ];
        for (kind, payload) in cases {
            assert!(part(kind, &payload).is_err(), "{kind} {payload:?}");
        }
    }
}
