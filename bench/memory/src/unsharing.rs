//! Names the variables whose memory a forked process has unshared, and the code that wrote there.
//!
//! A forked process shares all pages with the process that forked it, until it writes to a page.
//! The original still has each page as it was. A page that is written during the watch is named by
//! the address that was written first. A page that was written before is named by its differences.

use crate::error::MemoryError;
use crate::extents::Extents;
use crate::faults::{FaultWatch, WatchEvent};
use crate::graph::Graph;
use crate::heap::Heap;
use crate::pages::PageTable;
use crate::sites::{Site, Sites};
use mehari_profile::{CodePlaces, PerlProcess};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// Memory that a process has for itself now, of one variable and one place in the code.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unsharing {
    /// The variable, or what else the memory is.
    pub name: String,
    /// The bytes of the pages.
    pub bytes: u64,
    /// The code that wrote, or for earlier writes the code that may have written.
    pub sites: Vec<Site>,
    /// The sub of the code. Empty: it is not known.
    pub sub: String,
    /// The targets of the requests that wrote. Empty: they are not known.
    pub requests: BTreeSet<String>,
}

/// The first write to a shared page.
struct FirstWrite {
    address: u64,
    site: Option<Site>,
    sub: String,
    request: Option<String>,
}

/// What had changed in a page when the watch began.
enum Change {
    /// The value with the most changed words has this changed word's address.
    At(u64),
    Nothing,
    Unknown,
}

/// A process that is watched, beside the process that forked it.
pub struct UnsharingWatch {
    worker: PerlProcess,
    original: Heap,
    original_pages: PageTable,
    pages: PageTable,
    extents: Extents,
    /// The pages that were unshared when the watch began.
    before: Vec<Change>,
    writes: Vec<FirstWrite>,
    has_ended: bool,
}

/// The time between two questions whether the watch is over.
const STEP: Duration = Duration::from_millis(50);

impl UnsharingWatch {
    /// Reads the values of the process that forked the process.
    ///
    /// # Errors
    /// The processes cannot be read, or no perl has forked the process.
    pub fn of(pid: u32) -> Result<UnsharingWatch, MemoryError> {
        let parent = parent(pid).ok_or(MemoryError::Gone(pid))?;
        let original = PerlProcess::open(parent).map_err(|_| MemoryError::NotForked(pid))?;
        let worker = original.forked(pid).ok_or(MemoryError::NotForked(pid))?;
        let original_pages = PageTable::of(parent)?;
        let original = Heap::of(&original)?;
        let mut watch = UnsharingWatch {
            worker,
            pages: PageTable::of(pid)?,
            extents: Extents::of(&original),
            original,
            original_pages,
            before: Vec::new(),
            writes: Vec::new(),
            has_ended: false,
        };
        let unshared = watch.unshared().into_iter();
        watch.before = unshared.map(|page| watch.change(page)).collect();
        Ok(watch)
    }

    /// Returns the bytes that the process still shares with its original.
    pub fn shared_bytes(&self) -> u64 {
        let size = self.pages.page_size();
        let regions = self.original.memory.regions();
        let written = regions.flat_map(|(start, bytes)| {
            let count = bytes.len() as u64 / size;
            self.original_pages.states(start, count)
        });
        let written = written.filter(|page| page.is_written()).count() as u64;
        size * written.saturating_sub(self.before.len() as u64)
    }

    /// Returns the addresses of the pages of which each process has a copy of its own.
    fn unshared(&self) -> Vec<u64> {
        let size = self.pages.page_size();
        let mut all = Vec::new();
        for (start, bytes) in self.original.memory.regions() {
            let count = bytes.len() as u64 / size;
            let original = self.original_pages.states(start, count);
            let own = self.pages.states(start, count);
            let both = original.iter().zip(&own).zip(0..);
            let unshared = both.filter(|((one, own), _)| one.is_written() && own.is_exclusive());
            all.extend(unshared.map(|(_, index)| start + index * size));
        }
        all
    }

    /// Watches the process until `is_over`, or until the process ends. Calls `begins` when the
    /// process is watched.
    ///
    /// # Errors
    /// The process cannot be stopped at its page faults.
    pub fn run(
        &mut self,
        begins: &dyn Fn(),
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), MemoryError> {
        let mut faults = FaultWatch::of(self.worker.pid)?;
        begins();
        let mut places = CodePlaces::default();
        while !is_over() {
            match faults.next(STEP).map_err(MemoryError::NoFaults)? {
                WatchEvent::Fault(address) => self.note(address, &mut places),
                WatchEvent::Nothing => {}
                WatchEvent::Ended => {
                    self.has_ended = true;
                    break;
                }
            }
        }
        Ok(())
    }

    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Notes a page fault if it has unshared a page.
    fn note(&mut self, address: u64, places: &mut CodePlaces) {
        let was_shared = self.original_pages.state(address).is_written();
        if !was_shared || !self.pages.state(address).is_exclusive() {
            return;
        }
        let frame = places.innermost(&self.worker);
        self.writes.push(FirstWrite {
            address,
            site: frame.as_ref().map(|frame| Site {
                file: frame.file.clone(),
                line: frame.line,
            }),
            sub: frame.map_or(String::new(), |frame| frame.name),
            request: self.worker.target(),
        });
    }

    /// Returns what was unshared before the watch, and during the watch. The largest stands first.
    pub fn report(&self) -> (Vec<Unsharing>, Vec<Unsharing>) {
        let names = Names::of(&self.original, &self.extents, self.worker.pid);
        (self.earlier(&names), self.watched(&names))
    }

    fn watched(&self, names: &Names<'_>) -> Vec<Unsharing> {
        let mut groups: BTreeMap<(String, Option<Site>), Unsharing> = BTreeMap::new();
        for write in &self.writes {
            let told = names.of_address(write.address);
            let group = groups.entry((told.group, write.site.clone()));
            let group = group.or_insert_with(|| Unsharing {
                name: told.name.clone(),
                bytes: 0,
                sites: write.site.iter().cloned().collect(),
                sub: write.sub.clone(),
                requests: BTreeSet::new(),
            });
            group.name = common_name(&group.name, &told.name);
            group.bytes += self.pages.page_size();
            group.requests.extend(write.request.clone());
        }
        sorted(groups.into_values().collect())
    }

    fn earlier(&self, names: &Names<'_>) -> Vec<Unsharing> {
        let mut groups: BTreeMap<String, Unsharing> = BTreeMap::new();
        for change in &self.before {
            let told = match change {
                Change::At(address) => names.of_address(*address),
                Change::Nothing => Told::of_text(
                    "memory with its first content again, such as counts of references",
                ),
                Change::Unknown => Told::of_text("memory that could not be read"),
            };
            let group = groups.entry(told.group);
            let group = group.or_insert_with(|| Unsharing {
                name: told.name.clone(),
                bytes: 0,
                sites: told.sites,
                sub: String::new(),
                requests: BTreeSet::new(),
            });
            group.name = common_name(&group.name, &told.name);
            group.bytes += self.pages.page_size();
        }
        sorted(groups.into_values().collect())
    }

    /// Finds the value that has most changed words in a page.
    fn change(&self, page: u64) -> Change {
        let size = self.pages.page_size() as usize;
        let mut own = vec![0; size];
        let original = self.original.memory.bytes(page, size);
        let is_read = self.worker.memory.read(page, &mut own).is_ok();
        let (Some(original), true) = (original, is_read) else {
            return Change::Unknown;
        };
        let words = original.chunks_exact(8).zip(own.chunks_exact(8));
        let words = (page..).step_by(8).zip(words);
        let changed = words.filter(|(_, (one, other))| one != other);
        let mut counts: HashMap<Option<usize>, (usize, u64)> = HashMap::new();
        for (address, _) in changed {
            let count = counts.entry(self.extents.at(address));
            count.or_insert((0, address)).0 += 1;
        }
        let most = counts
            .into_iter()
            .max_by_key(|(place, count)| (place.is_some(), count.0));
        most.map_or(Change::Nothing, |(_, (_, address))| Change::At(address))
    }
}

fn sorted(mut all: Vec<Unsharing>) -> Vec<Unsharing> {
    all.sort_by(|one, other| (other.bytes, &one.name).cmp(&(one.bytes, &other.name)));
    all
}

/// Returns the process that has forked a process.
pub fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.rsplit_once(") ")?.1;
    after_name.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The names of the addresses of the original.
struct Names<'h> {
    heap: &'h Heap,
    graph: Graph,
    extents: &'h Extents,
    sites: Sites,
    maps: Vec<(u64, u64, String)>,
}

/// What an address is.
struct Told {
    name: String,
    /// Equal for all parts of one variable.
    group: String,
    sites: Vec<Site>,
}

impl Told {
    fn of_text(text: &str) -> Told {
        Told {
            name: text.to_owned(),
            group: text.to_owned(),
            sites: Vec::new(),
        }
    }
}

impl<'h> Names<'h> {
    fn of(heap: &'h Heap, extents: &'h Extents, pid: u32) -> Names<'h> {
        Names {
            graph: Graph::of(heap, &|_| true),
            extents,
            sites: Sites::of(heap),
            maps: maps(pid),
            heap,
        }
    }

    fn of_address(&self, address: u64) -> Told {
        let Some(place) = self.extents.at(address) else {
            return Told::of_text(&self.of_mapping(address));
        };
        let name = self.graph.name(self.heap, place);
        let variable = name.variable.map(|place| self.heap.values[place].address);
        let key = name.keys.last().map(String::as_str);
        let sites = self.sites.of_variable(variable.unwrap_or(0), key);
        let group = variable.map_or_else(|| name.text.clone(), |address| format!("{address:x}"));
        let is_glob = self.heap.is_glob(&self.heap.values[place]);
        let name = match (name.text.is_empty(), name.sub.is_empty()) {
            (true, _) => "%main::".to_owned(),
            (_, true) if is_glob => format!("*{}", name.text),
            (_, true) => name.text,
            (_, false) => format!("{} of {}", name.text, name.sub),
        };
        Told { name, group, sites }
    }

    /// Says what memory is that belongs to no variable.
    fn of_mapping(&self, address: u64) -> String {
        let after = self.maps.partition_point(|map| map.0 <= address);
        let map = after.checked_sub(1).map(|index| &self.maps[index]);
        match map.filter(|map| address < map.1).map(|map| &*map.2) {
            Some("[stack]") => "the C stack".to_owned(),
            Some(file) if file.starts_with('/') => format!("data of {file}"),
            _ => "memory of perl that no variable had: new values, free lists".to_owned(),
        }
    }
}

fn maps(pid: u32) -> Vec<(u64, u64, String)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let map = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let name = words.nth(4).unwrap_or_default().to_owned();
        Some((number(start)?, number(end)?, name))
    };
    text.lines().filter_map(map).collect()
}

/// Returns the name of two parts of one variable: `$list[1]` and `$list[7]` are `$list[..]`, and
/// `@list` and `$list[1]` are `@list`.
fn common_name(one: &str, other: &str) -> String {
    if one == other {
        return one.to_owned();
    }
    let mut text = String::new();
    for (part, other) in steps(one).into_iter().zip(steps(other)) {
        match part.chars().next() {
            _ if part == other => text += part,
            Some('[') => text += "[..]",
            Some('{') => text += "{..}",
            _ => break,
        }
    }
    if !text.is_empty() {
        text
    } else if other.len() < one.len() {
        other.to_owned()
    } else {
        one.to_owned()
    }
}

/// Cuts a name before each index and key.
fn steps(name: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let mut start = 0;
    for (at, sign) in name.char_indices() {
        let ends = matches!(sign, '[' | '{') || name[..at].ends_with([']', '}']);
        if ends && at > start {
            steps.push(&name[start..at]);
            start = at;
        }
    }
    steps.push(&name[start..]);
    steps
}

#[cfg(test)]
mod tests {
    use super::common_name;

    #[test]
    fn parts_of_one_variable_have_a_common_name() {
        for (one, other, common) in [
            ("$A::list[1]", "$A::list[7]", "$A::list[..]"),
            ("$A::h{a}[1]{x}", "$A::h{b}[1]{x}", "$A::h{..}[1]{x}"),
            ("my $c of &A::f", "my $c of &A::f", "my $c of &A::f"),
            ("$A::h{a}", "%A::h", "%A::h"),
            ("$A::list[..]", "$A::list[3]", "$A::list[..]"),
            ("$a[1] of &f", "$a[2] of &f", "$a[..] of &f"),
        ] {
            assert_eq!(common_name(one, other), common, "{one} {other}");
        }
    }
}
