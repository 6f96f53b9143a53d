//! Compares two looks at one process: which variables hold more, and what nothing holds any more.

use crate::graph::{Graph, ValueName};
use crate::heap::Heap;
use crate::links::Link;
use crate::sites::{Site, Sites};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What has grown between two looks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Leak {
    /// The variable, or what the values are that nothing holds.
    pub name: String,
    /// The kind of value: `hash`, `array`, `scalar`, or `unreachable`.
    pub kind: &'static str,
    pub bytes: i64,
    /// The elements of a hash or array, the bytes of a text, or the unreachable groups.
    pub elements: i64,
    /// Where Perl code changes the variable, the likeliest place first.
    pub sites: Vec<Site>,
}

/// A growth below this is not told.
const LEAST_BYTES: i64 = 1024;

/// Compares the looks. The largest growth stands first.
pub fn leaks(before: &Heap, after: &Heap) -> Vec<Leak> {
    let kinds = |heap: &Heap| -> HashMap<u64, usize> {
        let of = heap.values.iter();
        of.map(|value| (value.address, heap.kind(value))).collect()
    };
    let (first, second) = (kinds(before), kinds(after));
    let is_old =
        |address: u64| first.contains_key(&address) && first.get(&address) == second.get(&address);
    let old_graph = Graph::of(before, &is_old);
    let mut new_graph = Graph::of(after, &is_old);
    let sites = Sites::of(after);
    let mut found = grown((before, &old_graph), (after, &new_graph), &sites);
    found.extend(unreachable(after, &mut new_graph, &sites));
    found.retain(|leak| leak.bytes >= LEAST_BYTES);
    found.sort_by_key(|leak| -leak.bytes);
    found
}

/// Returns the owner of each value: the nearest value on its way from the root that the other look
/// has too, reached by the same way.
fn owners(heap: &Heap, graph: &Graph, other: &HashMap<u64, (u64, usize)>) -> Vec<usize> {
    let mut owners: Vec<usize> = (0..heap.values.len()).collect();
    for &place in &graph.order {
        let Some((parent, _)) = &graph.parents[place] else {
            continue;
        };
        let value = &heap.values[place];
        let key = (heap.values[*parent].address, heap.kind(value));
        let is_both = owners[*parent] == *parent && other.get(&value.address) == Some(&key);
        owners[place] = if is_both { place } else { owners[*parent] };
    }
    owners
}

fn parents(heap: &Heap, graph: &Graph) -> HashMap<u64, (u64, usize)> {
    let reached = graph.order.iter().filter_map(|&place| {
        let (parent, _) = graph.parents[place].as_ref()?;
        let value = &heap.values[place];
        Some((
            value.address,
            (heap.values[*parent].address, heap.kind(value)),
        ))
    });
    reached.collect()
}

/// Sums the bytes of all values by the address of their owner.
fn held(heap: &Heap, graph: &Graph, owners: &[usize]) -> HashMap<u64, i64> {
    let mut sums = HashMap::new();
    for &place in &graph.order {
        let owner = heap.values[owners[place]].address;
        *sums.entry(owner).or_insert(0) += heap.size(&heap.values[place]) as i64;
    }
    sums
}

fn grown(
    (before, old): (&Heap, &Graph),
    (after, new): (&Heap, &Graph),
    sites: &Sites,
) -> Vec<Leak> {
    let (first, second) = (parents(before, old), parents(after, new));
    let was = held(before, old, &owners(before, old, &second));
    let is = held(after, new, &owners(after, new, &first));
    let grown = is.into_iter().filter_map(|(address, now)| {
        let bytes = now - was.get(&address).copied().unwrap_or(0);
        let place = after.place(address).filter(|_| bytes >= LEAST_BYTES)?;
        let name = new.name(after, place);
        let kind = kind(after, place);
        let count = |heap: &Heap| {
            heap.place(address)
                .map_or(0, |it| heap.count(&heap.values[it]) as i64)
        };
        Some(Leak {
            sites: sites_of(sites, after, &name),
            name: if name.sub.is_empty() {
                name.text
            } else {
                format!("{} of {}", name.text, name.sub)
            },
            kind,
            bytes,
            elements: count(after) - count(before),
        })
    });
    grown.collect()
}

fn kind(heap: &Heap, place: usize) -> &'static str {
    match heap.kind(&heap.values[place]) {
        kind if kind == heap.layout.type_array => "array",
        kind if kind == heap.layout.sv_hash => "hash",
        kind if kind == heap.layout.sv_code => "sub",
        _ => "scalar",
    }
}

fn sites_of(sites: &Sites, heap: &Heap, name: &ValueName) -> Vec<Site> {
    if name.text.ends_with("::") {
        return sites.of_package(&name.text);
    }
    let variable = name.variable.map(|place| heap.values[place].address);
    sites.of_variable(variable.unwrap_or(0), name.keys.last().map(String::as_str))
}

/// Groups what nothing holds: closures by their place, objects by their class, hashes by their
/// keys.
fn unreachable(heap: &Heap, graph: &mut Graph, sites: &Sites) -> Vec<Leak> {
    let layout = &heap.layout;
    let ranks = [layout.sv_code, layout.sv_hash, layout.type_array];
    let mut groups: BTreeMap<String, Leak> = BTreeMap::new();
    for rank in 0..=ranks.len() {
        for place in 0..heap.values.len() {
            let is_turn = ranks
                .get(rank)
                .is_none_or(|&kind| kind == heap.kind(&heap.values[place]));
            if !is_turn || graph.parents[place].is_some() {
                continue;
            }
            let cycle = cycle(heap, place);
            let (name, sites) = told(heap, place, cycle.as_deref(), sites);
            let reached = graph.reach(heap, place);
            let bytes: u64 = reached.iter().map(|&it| heap.size(&heap.values[it])).sum();
            let group = groups.entry(name.clone()).or_insert(Leak {
                name,
                kind: "unreachable",
                bytes: 0,
                elements: 0,
                sites,
            });
            group.bytes += bytes as i64;
            group.elements += 1;
        }
    }
    groups.into_values().collect()
}

/// Returns the links by which a value holds itself.
fn cycle(heap: &Heap, root: usize) -> Option<Vec<Link>> {
    let mut from: HashMap<usize, (usize, Link)> = HashMap::new();
    let mut queue = std::collections::VecDeque::from([root]);
    let mut seen = HashSet::from([root]);
    while let Some(place) = queue.pop_front() {
        for (link, address) in heap.links(&heap.values[place]) {
            // A pad is passed: its variables are links of the sub.
            let Some(next) = heap.place(address).filter(|_| link != Link::Pad) else {
                continue;
            };
            if next == root {
                let mut way = vec![link];
                let mut at = place;
                while let Some((parent, link)) = from.get(&at) {
                    way.push(link.clone());
                    at = *parent;
                }
                way.reverse();
                return Some(way);
            }
            if seen.len() < 10_000 && seen.insert(next) {
                from.insert(next, (place, link));
                queue.push_back(next);
            }
        }
    }
    None
}

/// Describes an unreachable value, and finds where Perl code made it unreachable.
fn told(heap: &Heap, place: usize, cycle: Option<&[Link]>, sites: &Sites) -> (String, Vec<Site>) {
    let value = &heap.values[place];
    let way = cycle.map(|links| way_text(heap, links)).unwrap_or_default();
    if heap.kind(value) == heap.layout.sv_code {
        let at = sites.first_of_sub(heap, value.address);
        let text = match (&at, way.is_empty()) {
            (Some(at), false) => format!(
                "closure at {}:{} that holds itself by {way}",
                at.file, at.line
            ),
            (Some(at), true) => format!("closure at {}:{}", at.file, at.line),
            (None, _) => "sub without code".to_owned(),
        };
        return (text, at.into_iter().collect());
    }
    let kind = kind(heap, place);
    let class = heap
        .class(value)
        .map_or(String::new(), |class| format!(" of {class}"));
    if cycle.is_none() {
        return (format!("{kind}{class}"), Vec::new());
    }
    let keys = cycle.into_iter().flatten().filter_map(|link| match link {
        Link::Key(key) => Some(heap.key(*key)),
        _ => None,
    });
    let mut places: Vec<Site> = Vec::new();
    for key in keys {
        for site in sites.of_key(&key) {
            if !places.contains(&site) {
                places.push(site);
            }
        }
    }
    (format!("{kind}{class} that holds itself by {way}"), places)
}

/// Writes the links of a cycle. A cycle of keys begins with the first key of the alphabet, so that
/// equal cycles have one text.
fn way_text(heap: &Heap, links: &[Link]) -> String {
    let of_link = |link: &Link| match link {
        Link::Variable(name) => heap.memory.text(*name, 80),
        Link::Key(key) => format!("{{{}}}", heap.key(*key).escape_debug()),
        Link::Index(_) => "[]".to_owned(),
        Link::Magic => "(magic)".to_owned(),
        _ => String::new(),
    };
    let mut parts: Vec<String> = links.iter().map(of_link).collect();
    parts.retain(|part| !part.is_empty());
    let first = (0..parts.len()).min_by_key(|&at| (&parts[at], at));
    if parts.iter().all(|part| part.starts_with('{')) {
        parts.rotate_left(first.unwrap_or(0));
    }
    parts.concat()
}
