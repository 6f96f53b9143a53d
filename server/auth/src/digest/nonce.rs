//! Makes and checks nonces. Each nonce carries its creation time and a mark that only this process
//! can make. The used counts of a nonce are kept, so an overheard proof is useless.

use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::field::DigestCredentials;

/// The largest number of nonces whose counts are kept. When there are more, the older half of the
/// nonces becomes stale.
const KEPT: usize = 16 * 1024;
/// By how much a count may be lower than the highest one. Counts arrive out of order because
/// requests of several connections overtake each other.
const WINDOW: u32 = 32;
/// How long a nonce for one request is valid.
const ONCE: Duration = Duration::from_secs(60);
/// The client gets the next nonce when its present nonce expires within this time.
const SOON: Duration = Duration::from_secs(30);

/// The length of a nonce: microseconds since the server's start, a serial number, and the mark.
const BYTES: usize = 8 + 4 + MARK;
const MARK: usize = 16;

/// The rules for nonces at the requested place.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// How long a nonce is valid. `None`: for ever. Zero: for one request.
    pub life: Option<Duration>,
    pub counted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonceState {
    Fresh,
    /// The nonce is valid, but the client should get the next nonce.
    Ending,
    Stale,
}

pub struct Nonces {
    secret: Option<[u8; 32]>,
    began: Instant,
    number: Cell<u32>,
    used: RefCell<HashMap<Vec<u8>, Counts>>,
    /// Nonces made before this time are stale.
    floor: Cell<Duration>,
}

/// The highest counts of a nonce, with the requests that used these counts. One request may be
/// checked several times.
#[derive(Default)]
struct Counts {
    made: Duration,
    highest: u32,
    recent: Vec<(u32, u64)>,
}

impl Default for Nonces {
    fn default() -> Nonces {
        let mut secret = [0; 32];
        let filled = getrandom::fill(&mut secret);
        Nonces {
            // Without random bytes every nonce is stale, and every user is refused.
            secret: filled.ok().map(|()| secret),
            began: Instant::now(),
            number: Cell::new(0),
            used: RefCell::default(),
            floor: Cell::default(),
        }
    }
}

impl Nonces {
    pub fn make(&self, realm: &str) -> String {
        self.number.set(self.number.get().wrapping_add(1));
        self.made_at(self.began.elapsed(), realm)
    }

    fn made_at(&self, time: Duration, realm: &str) -> String {
        let mut nonce = (time.as_micros() as u64).to_be_bytes().to_vec();
        nonce.extend_from_slice(&self.number.get().to_be_bytes());
        let mark = self.mark(&nonce, realm).unwrap_or_default();
        nonce.extend_from_slice(&mark);
        mehari_text::hex::lower(&nonce)
    }

    fn mark(&self, head: &[u8], realm: &str) -> Option<[u8; MARK]> {
        let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(&self.secret?).ok()?;
        mac.update(head);
        mac.update(realm.as_bytes());
        mac.finalize().into_bytes()[..MARK].try_into().ok()
    }

    /// Checks the nonce of a correct proof. `request` is the number of the request. The number 0
    /// stands for a subrequest, which shares the count of its main request.
    pub fn check(
        &self,
        given: &DigestCredentials,
        realm: &str,
        how: Use,
        request: u64,
    ) -> NonceState {
        let Some(made) = self.time_of(&given.nonce, realm) else {
            return NonceState::Stale;
        };
        let age = self.began.elapsed().saturating_sub(made);
        let once = how.life == Some(Duration::ZERO);
        let life = if once { Some(ONCE) } else { how.life };
        let is_over = life.is_some_and(|life| age > life) || made < self.floor.get();
        let is_used =
            request != 0 && (how.counted || once) && !self.count(given, made, request, once);
        match (is_over || is_used, life) {
            (true, _) => NonceState::Stale,
            (false, Some(life)) if once || age + SOON > life => NonceState::Ending,
            (false, _) => NonceState::Fresh,
        }
    }

    /// Notes that this request uses the count. Returns false if another request has used the count.
    fn count(&self, given: &DigestCredentials, made: Duration, request: u64, once: bool) -> bool {
        // The older form has no counts.
        let Some(quality) = given.quality.as_ref().filter(|_| !once) else {
            return !once || self.take(given, made, 1, request);
        };
        self.take(given, made, quality.count, request)
    }

    fn take(&self, given: &DigestCredentials, made: Duration, count: u32, request: u64) -> bool {
        let mut used = self.used.borrow_mut();
        if used.len() >= KEPT && !used.contains_key(&given.nonce) {
            self.forget_older_half(&mut used);
        }
        let counts = used.entry(given.nonce.clone()).or_default();
        counts.made = made;
        if let Some((_, by)) = counts.recent.iter().find(|(known, _)| *known == count) {
            return *by == request;
        }
        if count == 0 || counts.highest.saturating_sub(count) >= WINDOW {
            return false;
        }
        counts.highest = counts.highest.max(count);
        let lowest = counts.highest.saturating_sub(WINDOW);
        counts.recent.retain(|(known, _)| *known > lowest);
        counts.recent.push((count, request));
        true
    }

    /// Forgets the older half of the nonces. They become stale, because they must not be accepted
    /// again.
    fn forget_older_half(&self, used: &mut HashMap<Vec<u8>, Counts>) {
        let mut times: Vec<Duration> = used.values().map(|counts| counts.made).collect();
        times.sort_unstable();
        let floor = times[times.len() / 2] + Duration::from_micros(1);
        self.floor.set(floor);
        used.retain(|_, counts| counts.made >= floor);
    }

    /// Returns the creation time. Returns `None` if another process or another realm made the
    /// nonce.
    fn time_of(&self, nonce: &[u8], realm: &str) -> Option<Duration> {
        let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
        if nonce.len() != 2 * BYTES {
            return None;
        }
        let pairs = nonce.chunks_exact(2);
        let bytes = pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
        let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
        let (head, mark) = bytes.split_at(BYTES - MARK);
        if !crate::passwords::is_same(&self.mark(head, realm)?, mark) {
            return None;
        }
        let time = u64::from_be_bytes(head[..8].try_into().ok()?);
        Some(Duration::from_micros(time))
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::Quality;
    use super::*;

    const LONG: Use = Use {
        life: Some(Duration::from_secs(300)),
        counted: true,
    };

    fn given(nonce: &str, count: u32) -> DigestCredentials {
        DigestCredentials {
            user: b"ann".to_vec(),
            realm: b"r".to_vec(),
            nonce: nonce.into(),
            uri: b"/".to_vec(),
            response: Vec::new(),
            has_opaque: false,
            algorithm: None,
            quality: Some(Quality {
                client_nonce: b"c".to_vec(),
                count,
                written_count: format!("{count:08x}").into_bytes(),
            }),
        }
    }

    #[test]
    fn a_count_is_accepted_once_and_counts_may_arrive_out_of_order() {
        let nonces = Nonces::default();
        let nonce = nonces.make("r");
        for (request, count, expected) in [
            (1, 1, NonceState::Fresh),
            // The same request is checked again.
            (1, 1, NonceState::Fresh),
            (2, 1, NonceState::Stale),
            (3, 3, NonceState::Fresh),
            (4, 2, NonceState::Fresh),
            (5, 2, NonceState::Stale),
            (6, 0, NonceState::Stale),
            (7, 3 + WINDOW, NonceState::Fresh),
            (8, 3, NonceState::Stale),
            (9, 4, NonceState::Fresh),
        ] {
            let found = nonces.check(&given(&nonce, count), "r", LONG, request);
            assert_eq!(found, expected, "request {request}, count {count}");
        }
    }

    #[test]
    fn a_nonce_with_a_wrong_mark_realm_or_age_is_stale() {
        let nonces = Nonces::default();
        let nonce = nonces.make("r");
        let check =
            |nonce: &str, realm: &str, how: Use| nonces.check(&given(nonce, 1), realm, how, 0);
        assert_eq!(check(&nonce, "r", LONG), NonceState::Fresh);
        assert_eq!(check(&nonce, "other", LONG), NonceState::Stale);
        assert_eq!(
            check(&Nonces::default().make("r"), "r", LONG),
            NonceState::Stale
        );
        assert_eq!(check(&nonce[1..], "r", LONG), NonceState::Stale);
        assert_eq!(
            check(&nonce.replace(|_: char| true, "é"), "r", LONG),
            NonceState::Stale
        );
        std::thread::sleep(Duration::from_millis(2));
        let short = |life| Use {
            life: Some(Duration::from_micros(life)),
            counted: true,
        };
        assert_eq!(check(&nonce, "r", short(1)), NonceState::Stale);
        assert_eq!(check(&nonce, "r", short(20_000_000)), NonceState::Ending);
        let ever = Use {
            life: None,
            counted: true,
        };
        assert_eq!(check(&nonce, "r", ever), NonceState::Fresh);
    }

    #[test]
    fn a_nonce_for_one_request_is_stale_for_the_next_request() {
        let nonces = Nonces::default();
        let nonce = nonces.make("r");
        let once = Use {
            life: Some(Duration::ZERO),
            counted: false,
        };
        let check = |request, count| nonces.check(&given(&nonce, count), "r", once, request);
        assert_eq!(check(1, 1), NonceState::Ending);
        assert_eq!(check(1, 1), NonceState::Ending);
        assert_eq!(check(2, 2), NonceState::Stale);
    }

    #[test]
    fn a_forgotten_nonce_is_stale() {
        let nonces = Nonces::default();
        let first = nonces.made_at(Duration::from_micros(1), "r");
        assert_eq!(
            nonces.check(&given(&first, 1), "r", LONG, 1),
            NonceState::Fresh
        );
        for number in 0..KEPT as u64 {
            let nonce = nonces.made_at(Duration::from_micros(2 + number), "r");
            nonces.check(&given(&nonce, 1), "r", LONG, 2 + number);
        }
        assert!(nonces.used.borrow().len() <= KEPT);
        assert_eq!(
            nonces.check(&given(&first, 2), "r", LONG, 1 << 40),
            NonceState::Stale
        );
    }
}
