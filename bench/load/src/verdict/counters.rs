//! Reads the kernel's TCP counters from /proc/net/snmp and /proc/net/netstat. The verdict compares
//! their values before and after a run.

/// The values of the counters in `WATCHED`, in the same order.
#[derive(Clone, Debug, Default)]
pub struct Counters([u64; WATCHED.len()]);

/// Each counter's name in /proc, and what an increase means.
const WATCHED: [(&str, &str); 4] = [
    (
        "ListenOverflows",
        "connections were refused by a full accept queue",
    ),
    (
        "ListenDrops",
        "connection attempts were dropped by a listener",
    ),
    ("TCPTimeouts", "TCP retransmission timers ran out"),
    ("RetransSegs", "TCP segments were sent again"),
];

impl Counters {
    pub fn read() -> Counters {
        let texts = ["/proc/net/snmp", "/proc/net/netstat"]
            .map(|path| std::fs::read_to_string(path).unwrap_or_default());
        let mut values = [0; WATCHED.len()];
        for (value, (name, _)) in values.iter_mut().zip(WATCHED) {
            *value = texts.iter().find_map(|text| find(text, name)).unwrap_or(0);
        }
        Counters(values)
    }

    pub fn since(&self, before: &Counters) -> Counters {
        let mut difference = self.0;
        for (value, before) in difference.iter_mut().zip(before.0) {
            *value = value.saturating_sub(before);
        }
        Counters(difference)
    }

    /// Returns the counters that changed, with their meaning.
    pub fn troubles(&self) -> impl Iterator<Item = (u64, &'static str)> + '_ {
        self.0
            .iter()
            .zip(WATCHED)
            .filter(|(count, _)| **count > 0)
            .map(|(count, (_, what))| (*count, what))
    }
}

/// Returns the value of a counter. The files in /proc hold pairs of lines: a line of names, then a
/// line of values.
fn find(text: &str, name: &str) -> Option<u64> {
    let lines: Vec<&str> = text.lines().collect();
    lines.chunks_exact(2).find_map(|pair| {
        let place = pair[0].split_whitespace().position(|word| word == name)?;
        pair[1].split_whitespace().nth(place)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name_and_subtracted() {
        let text = "Tcp: A RetransSegs B\nTcp: 1 17 3\nTcpExt: ListenDrops\nTcpExt: 5\n";
        assert_eq!(find(text, "RetransSegs"), Some(17));
        assert_eq!(find(text, "ListenDrops"), Some(5));
        assert_eq!(find(text, "Absent"), None);
        let difference = Counters([5, 0, 9, 2]).since(&Counters([5, 0, 7, 2]));
        let troubles: Vec<_> = difference.troubles().collect();
        assert_eq!(troubles, [(2, "TCP retransmission timers ran out")]);
    }

    #[test]
    fn this_kernel_has_the_counters() {
        let text = std::fs::read_to_string("/proc/net/netstat").expect("a Linux /proc");
        assert!(find(&text, "TCPTimeouts").is_some());
    }
}
