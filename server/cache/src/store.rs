//! Keeps pages by their keys in memory, up to a limit. The least recently used page leaves first.
//!
//! A key is a host and a target. The pages of one key differ in the request fields that `Vary`
//! names. If responses for a key cannot be kept, the store remembers the key for a while. A request
//! for such a key does not wait for another request's response.

use crate::fields::Field;
use crate::page::{Freshness, Page};
use crate::vary::Varied;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// The largest number of pages per key. The oldest page leaves first.
const VARIANTS: usize = 16;
/// The weight of a key in bytes, in addition to the bytes of the key.
const OVERHEAD: u64 = 160;

#[derive(Debug, Default)]
pub struct Store {
    shelves: RefCell<BTreeMap<Rc<[u8]>, Shelf>>,
    most: Cell<u64>,
    weight: Cell<u64>,
    looks: Cell<u64>,
    numbers: Cell<u64>,
}

#[derive(Debug, Default)]
struct Shelf {
    /// The oldest page comes first.
    pages: Vec<Rc<Page>>,
    refused: Option<SystemTime>,
    used: u64,
}

#[derive(Debug, Clone)]
pub enum StoreLookup {
    Page(Rc<Page>),
    /// Responses for this key cannot be kept.
    Refused,
    Nothing,
}

impl Store {
    /// Sets the store's limit in bytes.
    pub fn bound(&self, most: u64) {
        self.most.set(most);
        self.shrink();
    }

    pub fn weight(&self) -> u64 {
        self.weight.get()
    }

    pub fn count(&self) -> usize {
        self.shelves.borrow().len()
    }

    /// Returns a number that no page has had.
    pub fn next_number(&self) -> u64 {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
    }

    /// Finds the page for a request, whether the page is fresh or not.
    pub fn find(&self, key: &[u8], asked: &[Field<'_>], now: SystemTime) -> StoreLookup {
        let mut shelves = self.shelves.borrow_mut();
        let Some(shelf) = shelves.get_mut(key) else {
            return StoreLookup::Nothing;
        };
        shelf.used = self.look();
        match shelf.choose(asked, now) {
            Some(page) => StoreLookup::Page(page.clone()),
            None if shelf.refused.is_some_and(|until| now < until) => StoreLookup::Refused,
            None => StoreLookup::Nothing,
        }
    }

    /// Returns the fields that `Vary` of the newest page of a key names, with that page's values.
    pub fn vary(&self, key: &[u8]) -> Option<Varied> {
        let shelves = self.shelves.borrow();
        let newest = shelves.get(key)?.pages.last()?;
        Some(newest.terms.vary.clone())
    }

    /// Stores a page in place of the earlier page for the same requests.
    pub fn put(&self, key: &[u8], page: Rc<Page>) {
        self.change(key, |shelf| {
            let same = |known: &Rc<Page>| known.terms.vary == page.terms.vary;
            shelf.pages.retain(|known| !same(known));
            shelf.pages.push(page);
            // The folder and Redis return pages in any order.
            shelf.pages.sort_by_key(|page| page.since);
            if shelf.pages.len() > VARIANTS {
                shelf.pages.remove(0);
            }
            shelf.refused = None;
        });
        self.shrink();
    }

    /// Remembers for a while that responses for this key cannot be kept.
    pub fn refuse(&self, key: &[u8], now: SystemTime, time: Duration) {
        self.change(key, |shelf| shelf.refused = Some(now + time));
        self.shrink();
    }

    /// Forgets a key and returns the number of its pages.
    pub fn remove(&self, key: &[u8]) -> usize {
        let gone = self.shelves.borrow_mut().remove(key);
        let Some(shelf) = gone else { return 0 };
        self.weight.set(self.weight.get() - shelf.weight(key));
        shelf.pages.len()
    }

    /// Returns the keys that equal `base`, or that begin with `base` and a NUL.
    pub fn keys_of(&self, base: &[u8]) -> Vec<Rc<[u8]>> {
        let shelves = self.shelves.borrow();
        let own = shelves.get_key_value(base).into_iter();
        let (from, to) = ([base, &[0]].concat(), [base, &[1]].concat());
        let others = shelves.range::<[u8], _>((Included(&from[..]), Excluded(&to[..])));
        own.chain(others).map(|(key, _)| key.clone()).collect()
    }

    /// Forgets the chosen keys and returns the number of their pages.
    pub fn remove_if(&self, is_meant: impl Fn(&[u8]) -> bool) -> usize {
        let shelves = self.shelves.borrow();
        let meant = shelves.keys().filter(|key| is_meant(key)).cloned();
        let meant: Vec<Rc<[u8]>> = meant.collect();
        drop(shelves);
        meant.iter().map(|key| self.remove(key)).sum()
    }

    fn look(&self) -> u64 {
        self.looks.set(self.looks.get() + 1);
        self.looks.get()
    }

    fn change(&self, key: &[u8], change: impl FnOnce(&mut Shelf)) {
        let mut shelves = self.shelves.borrow_mut();
        let used = self.look();
        let (shelf, before) = if shelves.contains_key(key) {
            let shelf = shelves.get_mut(key).expect("it is there");
            let before = shelf.weight(key);
            (shelf, before)
        } else {
            (shelves.entry(key.into()).or_default(), 0)
        };
        change(shelf);
        shelf.used = used;
        let weight = self.weight.get() + shelf.weight(key) - before;
        self.weight.set(weight);
    }

    /// Shrinks the store to nine tenths of the limit, so that shrinking is rare.
    fn shrink(&self) {
        if self.weight.get() <= self.most.get() {
            return;
        }
        let shelves = self.shelves.borrow();
        let by_use = shelves.iter().map(|(key, shelf)| (shelf.used, key.clone()));
        let mut by_use: Vec<(u64, Rc<[u8]>)> = by_use.collect();
        drop(shelves);
        by_use.sort_unstable();
        for (_, key) in by_use {
            if self.weight.get() <= self.most.get() / 10 * 9 {
                break;
            }
            self.remove(&key);
        }
    }
}

impl Shelf {
    /// Chooses the newest page for a request, because this page is the nearest to the program's
    /// current response. A fresh variant comes before a page without `Vary` (RFC 9111 section 4.1):
    /// a program that sends `Vary` may omit it in some responses.
    fn choose(&self, asked: &[Field<'_>], now: SystemTime) -> Option<&Rc<Page>> {
        let suits = |page: &&Rc<Page>| page.terms.fits(asked) && !page.is_useless(now);
        let is_fresh_variant = |page: &Page| {
            !page.terms.vary.is_empty() && page.freshness(None, now) == Freshness::Fresh
        };
        let suitable = self.pages.iter().filter(suits);
        suitable.max_by_key(|page| (is_fresh_variant(page), page.since))
    }

    fn weight(&self, key: &[u8]) -> u64 {
        let pages: u64 = self.pages.iter().map(|page| page.weight()).sum();
        pages + key.len() as u64 + OVERHEAD
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrival;
    use crate::Terms;
    use mehari_config::CacheRules;

    fn page(asked: &[Field], body: &'static [u8]) -> Rc<Page> {
        let lines = b"Cache-Control: max-age=60\r\nVary: L\r\n";
        page_at(SystemTime::now(), lines, asked, body)
    }

    fn page_at(now: SystemTime, lines: &[u8], asked: &[Field], body: &'static [u8]) -> Rc<Page> {
        let rules = CacheRules::default();
        Rc::new(Page {
            status: 200,
            lines: lines.to_vec(),
            body: body.into(),
            since: now,
            terms: Terms::of(
                &rules,
                asked,
                false,
                200,
                lines,
                Arrival {
                    at: now,
                    delay: Duration::ZERO,
                },
            )
            .expect("kept"),
            number: 0,
        })
    }

    fn body(store: &Store, key: &str, asked: &[Field]) -> Option<Vec<u8>> {
        match store.find(key.as_bytes(), asked, SystemTime::now()) {
            StoreLookup::Page(page) => Some(page.body.to_vec()),
            _ => None,
        }
    }

    #[test]
    fn variants_of_a_page_are_stored_together() {
        let store = Store::default();
        store.bound(1 << 20);
        let (de, en): ([Field; 1], [Field; 1]) = ([(b"l", b"de")], [(b"L", b"en")]);
        store.put(b"k", page(&de, b"guten tag"));
        store.put(b"k", page(&en, b"hello"));
        store.put(b"k", page(&en, b"hello again"));
        assert_eq!(body(&store, "k", &de).as_deref(), Some(&b"guten tag"[..]));
        assert_eq!(body(&store, "k", &en).as_deref(), Some(&b"hello again"[..]));
        assert_eq!(body(&store, "k", &[]), None);
        assert_eq!(store.remove(b"k"), 2);
        assert_eq!((store.weight(), store.count()), (0, 0));
    }

    #[test]
    fn a_fresh_variant_wins_over_a_page_without_vary() {
        let store = Store::default();
        store.bound(1 << 20);
        let en: [Field; 1] = [(b"L", b"en")];
        let now = SystemTime::now();
        let ago = |seconds| now - Duration::from_secs(seconds);
        let plain = b"Cache-Control: max-age=60\r\n";
        let varied = b"Cache-Control: max-age=60\r\nVary: L\r\n";
        store.put(b"k", page_at(ago(9), varied, &en, b"hello"));
        store.put(b"k", page_at(ago(5), plain, &[], b"plain"));
        assert_eq!(body(&store, "k", &en).as_deref(), Some(&b"hello"[..]));
        assert_eq!(body(&store, "k", &[]).as_deref(), Some(&b"plain"[..]));
        store.put(b"k", page_at(ago(99), varied, &en, b"an old hello"));
        assert_eq!(body(&store, "k", &en).as_deref(), Some(&b"plain"[..]));
    }

    #[test]
    fn the_newest_page_wins_in_whatever_order_pages_are_stored() {
        let store = Store::default();
        store.bound(1 << 20);
        let now = SystemTime::now();
        let ago = |seconds| now - Duration::from_secs(seconds);
        let (l, m) = (
            b"Cache-Control: max-age=60\r\nVary: L\r\n",
            b"Cache-Control: max-age=60\r\nVary: M\r\n",
        );
        store.put(b"k", page_at(ago(1), l, &[], b"new"));
        store.put(b"k", page_at(ago(2), m, &[], b"old"));
        assert_eq!(body(&store, "k", &[]).as_deref(), Some(&b"new"[..]));
        assert_eq!(store.vary(b"k").expect("stored")[0].0, b"l");
    }

    #[test]
    fn request_fields_in_vary_count_towards_the_limit() {
        let store = Store::default();
        store.bound(100_000);
        for number in 0..100 {
            let language = format!("{number:08000}");
            let asked: [Field; 1] = [(b"L", language.as_bytes())];
            store.put(format!("k{number}").as_bytes(), page(&asked, b"x"));
        }
        assert!(store.count() < 13, "{} of 8,000 bytes each", store.count());
    }

    #[test]
    fn the_least_recently_used_page_is_dropped() {
        let store = Store::default();
        store.bound(10_000);
        static BODY: [u8; 1000] = [0; 1000];
        for number in 0..30 {
            store.put(format!("k{number}").as_bytes(), page(&[], &BODY));
            assert!(
                body(&store, "k0", &[]).is_some(),
                "used all the time: {number}"
            );
            assert!(store.weight() <= 10_000);
        }
        assert!(body(&store, "k1", &[]).is_none());
        assert!(body(&store, "k29", &[]).is_some());
        assert!(store.remove_if(|key| key != b"k29") > 0);
        assert_eq!(store.count(), 1);
    }

    #[test]
    fn keys_of_finds_keys_with_a_suffix() {
        let store = Store::default();
        store.bound(10_000);
        for key in [&b"a"[..], b"a\0x", b"a\0", b"ab", b"a\x01", b"b\0x"] {
            store.put(key, page(&[], b"x"));
        }
        let of = |base: &[u8]| store.keys_of(base).len();
        assert_eq!((of(b"a"), of(b"b"), of(b"ab"), of(b"c")), (3, 1, 1, 0));
    }

    #[test]
    fn a_refused_key_is_remembered_for_a_while() {
        let store = Store::default();
        store.bound(10_000);
        let now = SystemTime::now();
        let time = Duration::from_secs(10);
        store.refuse(b"k", now, time);
        assert!(matches!(store.find(b"k", &[], now), StoreLookup::Refused));
        assert!(matches!(
            store.find(b"k", &[], now + time),
            StoreLookup::Nothing
        ));
        store.put(b"k", page(&[], b"x"));
        assert!(matches!(store.find(b"k", &[], now), StoreLookup::Page(_)));
    }
}
