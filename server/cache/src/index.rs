//! Keeps the keys of the files in the folder. The cache therefore knows without a disk access that
//! a page is missing.

use crate::folder::FolderEntry;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included};

#[derive(Debug, Default)]
pub struct Index {
    shelves: BTreeMap<Vec<u8>, Shelf>,
    weight: u64,
    looks: u64,
}

#[derive(Debug, Default)]
struct Shelf {
    files: Vec<FolderEntry>,
    used: u64,
}

impl Index {
    pub fn weight(&self) -> u64 {
        self.weight
    }

    pub fn put(&mut self, key: &[u8], filed: FolderEntry) {
        self.looks += 1;
        let shelf = self.shelves.entry(key.to_vec()).or_default();
        shelf.used = self.looks;
        self.weight += filed.size;
        match shelf
            .files
            .iter_mut()
            .find(|known| known.name == filed.name)
        {
            Some(known) => {
                self.weight -= known.size;
                *known = filed;
            }
            None => shelf.files.push(filed),
        }
    }

    /// Returns the names of a key's files, or an empty list.
    pub fn names(&mut self, key: &[u8]) -> Vec<String> {
        self.looks += 1;
        let Some(shelf) = self.shelves.get_mut(key) else {
            return Vec::new();
        };
        shelf.used = self.looks;
        shelf.files.iter().map(|filed| filed.name.clone()).collect()
    }

    /// Forgets a key and returns the names of its files.
    pub fn remove(&mut self, key: &[u8]) -> Vec<String> {
        let files = self.shelves.remove(key).unwrap_or_default().files;
        self.weight -= files.iter().map(|filed| filed.size).sum::<u64>();
        files.into_iter().map(|filed| filed.name).collect()
    }

    /// Returns the keys that equal `base`, or that begin with `base` and a NUL.
    pub fn keys_of(&self, base: &[u8]) -> Vec<Vec<u8>> {
        let own = self.shelves.get_key_value(base).into_iter();
        let (from, to) = ([base, &[0]].concat(), [base, &[1]].concat());
        let others = self
            .shelves
            .range::<[u8], _>((Included(&from[..]), Excluded(&to[..])));
        own.chain(others).map(|(key, _)| key.clone()).collect()
    }

    pub fn remove_if(&mut self, is_meant: impl Fn(&[u8]) -> bool) -> Vec<String> {
        let meant = self.shelves.keys().filter(|key| is_meant(key)).cloned();
        let meant: Vec<Vec<u8>> = meant.collect();
        meant.iter().flat_map(|key| self.remove(key)).collect()
    }

    /// Forgets the least recently used keys until nine tenths of `most` bytes are left. Returns the
    /// names of the forgotten keys' files.
    pub fn shrink(&mut self, most: u64) -> Vec<String> {
        if self.weight <= most {
            return Vec::new();
        }
        let by_use = self
            .shelves
            .iter()
            .map(|(key, shelf)| (shelf.used, key.clone()));
        let mut by_use: Vec<(u64, Vec<u8>)> = by_use.collect();
        by_use.sort_unstable();
        let mut gone = Vec::new();
        for (_, key) in by_use {
            if self.weight <= most / 10 * 9 {
                break;
            }
            gone.extend(self.remove(&key));
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filed(name: &str, size: u64) -> FolderEntry {
        FolderEntry {
            name: name.into(),
            size,
        }
    }

    #[test]
    fn the_index_finds_keys_and_drops_the_least_recently_used() {
        let mut index = Index::default();
        index.put(b"a", filed("a1", 100));
        index.put(b"a", filed("a2", 100));
        index.put(b"a", filed("a1", 50));
        assert_eq!(
            (index.names(b"a"), index.weight()),
            (vec!["a1".into(), "a2".into()], 150)
        );
        index.put(b"b", filed("b1", 100));
        index.put(b"c", filed("c1", 100));
        assert_eq!(index.names(b"a").len(), 2, "used just now");
        assert_eq!(index.shrink(300), ["b1"]);
        assert!(index.names(b"b").is_empty());
        assert_eq!(index.remove_if(|key| key == b"a").len(), 2);
        assert_eq!(index.weight(), 100);
    }
}
