//! Merges the settings for one request from the settings outside of sections and every matching
//! section.
//!
//! The order is Apache's: `<Directory>` from the shortest path to the longest, `<DirectoryMatch>`,
//! `<Files>`, `<Location>`, each in the order of the files. The order does not depend on the
//! request, so the result depends only on the set of matching sections. Each set is merged once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::{Host, Htaccess};
use crate::settings::{put, HandlerWords, Matching, Merger};
use crate::{scope, Change, Forced, RequestPlace, Scope, Section, Settings, VariableSource};

/// A host with at most this many sections needs no allocation for a lookup.
const SECTIONS_ON_STACK: usize = 16 * 64;

/// The number that the next merged settings get. The numbers of two generations differ, because a
/// worker may get requests of both generations.
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

/// The sets of sections that were merged, with their settings. A clone is empty, because a cloned
/// host may change.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    order: OnceLock<Vec<usize>>,
    needs_walk: OnceLock<bool>,
    tells_indexes_apart: OnceLock<bool>,
    /// The `<Directory>` sections with `Options`, which [`Host::links_in`] reads.
    pub(super) about_links: OnceLock<Vec<usize>>,
    pub(super) known: RwLock<HashMap<Box<[u64]>, Arc<Settings>>>,
}

impl Clone for Merged {
    fn clone(&self) -> Merged {
        Merged::default()
    }
}

impl Host {
    /// Tells whether any section depends on which parts of a path are existing folders.
    pub fn needs_walk(&self) -> bool {
        let reads_walk = |section: &Section| {
            !matches!(section.scope, Scope::Location(_) | Scope::LocationMatch(_))
        };
        let needs = || self.sections.iter().any(reads_walk) || self.allows_htaccess();
        *self.merged.needs_walk.get_or_init(needs)
    }

    /// Tells whether a section may match a file, but not the same file as the index of its folder.
    pub fn tells_indexes_apart(&self) -> bool {
        let is_pattern = |scope: &Scope| match scope {
            Scope::Directory(folder) => scope::is_pattern(folder),
            Scope::DirectoryMatch(_) => true,
            _ => false,
        };
        let scopes = || {
            let sections = self.sections.iter();
            sections.flat_map(|section| section.within.iter().chain([&section.scope]))
        };
        let tells = || scopes().any(is_pattern);
        *self.merged.tells_indexes_apart.get_or_init(tells)
    }

    /// Returns the settings for a request. `url_path` is decoded and normalised. `file` is the
    /// mapped file, if any. A set of sections is merged at its first use, and later uses share the
    /// result. A site must therefore not change once it serves requests.
    pub fn settings(
        &self,
        url_path: &(impl AsRef<[u8]> + ?Sized),
        file: Option<&Path>,
    ) -> Arc<Settings> {
        self.settings_with(RequestPlace::of(url_path, file), &[])
    }

    /// Returns the settings for a request with these .htaccess files. The file of the outermost
    /// folder comes first.
    pub fn settings_with(
        &self,
        place: RequestPlace<'_>,
        htaccess: &[Arc<Htaccess>],
    ) -> Arc<Settings> {
        let mut on_stack = [0u64; SECTIONS_ON_STACK / 64];
        let mut on_heap;
        let words = self.sections.len().div_ceil(64);
        let matching = if words <= on_stack.len() {
            &mut on_stack[..words]
        } else {
            on_heap = vec![0u64; words];
            &mut on_heap[..]
        };
        for (number, section) in self.sections.iter().enumerate() {
            if section.matches(place) {
                matching[number / 64] |= 1 << (number % 64);
            }
        }
        if htaccess.is_empty() {
            return self.merged_for(matching, |settings, words| {
                self.merge(settings, words, matching)
            });
        }
        let key = key(matching, htaccess, place);
        self.merged_for(&key, |settings, words| {
            self.merge_with(settings, words, matching, htaccess, place)
        })
    }

    /// Returns the settings of a request that only this section matches. `mehari check` prints
    /// them.
    pub fn settings_of(&self, section: &Section) -> Settings {
        let mut settings = self.base.clone();
        let mut words = self.base_handlers.clone();
        section.apply(&mut settings, &mut words);
        settings.encode_for_worker();
        settings
    }

    /// Returns the settings after the changes of every `<If>` whose condition the request meets.
    pub fn settings_if(
        &self,
        settings: &Arc<Settings>,
        variables: &dyn VariableSource,
    ) -> Arc<Settings> {
        let Some(of) = &settings.matching.0 else {
            return settings.clone();
        };
        let all = &settings.rules.conditionals;
        let mut met = vec![0u64; all.len().div_ceil(64)];
        for (number, conditional) in all.iter().enumerate() {
            if conditional.condition.holds(variables) {
                met[number / 64] |= 1 << (number % 64);
            }
        }
        let more = [u64::MAX].into_iter().chain(met.iter().copied());
        self.merged_behind(settings, of, more, |merged, words| {
            let holds = |number: &usize| met[number / 64] & (1 << (number % 64)) != 0;
            for number in (0..all.len()).filter(holds) {
                words.apply(merged, &all[number].changes, "");
                merged.change_rules(&all[number].changes, None, true);
            }
            // All conditions have been evaluated, so nothing evaluates them again.
            merged.rules.conditionals.clear();
            merged.rules.is_conditional = true;
            merged.rules.is_of_path |= met.iter().any(|bits| *bits != 0);
        })
    }

    /// Returns the settings after the changes that rules force on the request.
    pub fn settings_forced(
        &self,
        settings: &Arc<Settings>,
        forced: &[Arc<Forced>],
    ) -> Arc<Settings> {
        let Some(of) = settings.matching.0.as_ref().filter(|_| !forced.is_empty()) else {
            return settings.clone();
        };
        let serials = forced.iter().map(|forced| forced.serial);
        let more = [u64::MAX - 1].into_iter().chain(serials);
        self.merged_behind(settings, of, more, |merged, words| {
            for forced in forced {
                words.apply(merged, &changes(forced), "");
            }
        })
    }

    /// Merges more changes into merged settings.
    fn merged_behind(
        &self,
        settings: &Settings,
        of: &Merger,
        more: impl Iterator<Item = u64>,
        change: impl FnOnce(&mut Settings, &mut HandlerWords),
    ) -> Arc<Settings> {
        let key: Vec<u64> = of.key.iter().copied().chain(more).collect();
        self.merged_for(&key, |merged, words| {
            *merged = settings.clone();
            *words = of.words.clone();
            change(merged, words);
        })
    }

    fn merged_for(
        &self,
        key: &[u64],
        merge: impl FnOnce(&mut Settings, &mut HandlerWords),
    ) -> Arc<Settings> {
        let known = self.merged.known.read();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        if let Some(settings) = known.get(key) {
            return settings.clone();
        }
        drop(known);
        let mut settings = self.unmerged();
        let mut words = self.base_handlers.clone();
        merge(&mut settings, &mut words);
        self.add_pool_env(&mut settings);
        let goes_on = !settings.rules.conditionals.is_empty()
            || settings.rules.rewriting.forces()
            || self.rules.rewriting.forces();
        if goes_on {
            let key = key.into();
            settings.matching = Matching(Some(Arc::new(Merger { key, words })));
        }
        settings.forget_location();
        let known = self.merged.known.write();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_SETS {
            known.clear();
        }
        let same = known.values().find(|other| {
            settings.id = other.id;
            settings == ***other
        });
        let settings = same.cloned().unwrap_or_else(|| {
            settings.id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
            settings.encode_for_worker();
            Arc::new(settings)
        });
        known.insert(key.into(), settings.clone());
        settings
    }

    /// Adds the variables of the pool that the merged settings name. The variables of the host and
    /// of sections outweigh those of the pool, which outweigh the main server's.
    fn add_pool_env(&self, settings: &mut Settings) {
        let Some(pool) = settings.programs.pool.clone() else {
            return;
        };
        for variable in &pool.set_env {
            let (name, value) = variable.clone();
            let mut known = settings.programs.perl_env.iter();
            let known = known.find(|(known, _)| *known == name);
            if known.is_none_or(|known| self.outer_env.contains(known)) {
                put(&mut settings.programs.perl_env, &name, value);
            }
        }
    }

    fn merge(&self, settings: &mut Settings, words: &mut HandlerWords, matching: &[u64]) {
        let order = self
            .merged
            .order
            .get_or_init(|| merge_order(&self.sections));
        for &number in order {
            if matching[number / 64] & (1 << (number % 64)) != 0 {
                self.sections[number].apply(settings, words);
            }
        }
    }

    /// Applies the matching sections and the .htaccess files in Apache's order. A .htaccess file
    /// comes after the sections of its folder and before deeper folders.
    fn merge_with(
        &self,
        settings: &mut Settings,
        words: &mut HandlerWords,
        matching: &[u64],
        htaccess: &[Arc<Htaccess>],
        place: RequestPlace<'_>,
    ) {
        let holds = |number: &usize| matching[number / 64] & (1 << (number % 64)) != 0;
        let fixed = (0..self.sections.len()).filter(holds);
        let fixed = fixed.map(|number| (self.sections[number].rank(), 0, &self.sections[number]));
        let read = htaccess.iter().flat_map(|file| &file.sections);
        let read = read
            .filter(|section| section.matches(place))
            .map(|section| (section.rank(), 1, section));
        let mut all: Vec<_> = fixed.chain(read).collect();
        all.sort_by_key(|(rank, source, _)| (*rank, *source));
        for (_, _, section) in all {
            section.apply(settings, words);
        }
    }
}

/// Returns the key of a merge: the matching sections, the .htaccess files, and which of their
/// `<Files>` match.
fn key(matching: &[u64], htaccess: &[Arc<Htaccess>], place: RequestPlace<'_>) -> Vec<u64> {
    let serials = htaccess.iter().map(|file| file.serial);
    let count = [htaccess.len() as u64];
    let mut key: Vec<u64> = matching
        .iter()
        .copied()
        .chain(count)
        .chain(serials)
        .collect();
    let sections = htaccess.iter().flat_map(|file| &file.sections);
    for (number, section) in sections.enumerate() {
        if number % 64 == 0 {
            key.push(0);
        }
        if let (true, Some(bits)) = (section.matches(place), key.last_mut()) {
            *bits |= 1 << (number % 64);
        }
    }
    key
}

/// The most sets of sections that are kept. The limit is needed because .htaccess files may change
/// any number of times.
const MOST_SETS: usize = 16 * 1024;

impl Section {
    fn apply(&self, settings: &mut Settings, words: &mut HandlerWords) {
        words.apply(settings, &self.changes, &self.scope.path());
        let folder = match &self.scope {
            crate::Scope::Directory(folder) => Some(folder.as_path()),
            _ => match &self.within {
                Some(crate::Scope::Directory(folder)) => Some(folder.as_path()),
                _ => None,
            },
        };
        settings.change_rules(&self.changes, folder, true);
        settings.rules.named_groups.extend(self.scope.groups());
        settings.rules.is_of_path |= self.is_of_path();
    }
}

fn changes(forced: &Forced) -> Vec<Change> {
    let handler = forced.handler.clone().map(Change::SetHandler);
    let media_type = forced.media_type.clone();
    let media_type = media_type.map(|one| Change::ForceType(Some(one)));
    handler.into_iter().chain(media_type).collect()
}

fn merge_order(sections: &[Section]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|&number| sections[number].rank());
    order
}
