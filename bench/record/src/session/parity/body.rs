//! Compares bodies. Texts are compared with masks, and the report shows an excerpt around the first
//! difference. For other bytes the report shows the offset of the first difference.

use super::difference::{Difference, Findings};
use super::mask::Masks;
use crate::session::excerpt::{excerpt, texts};
use crate::session::replay::answer::Answer;

/// Returns whether the bodies differ after masking, and adds the difference to `findings`.
pub fn compare(old: &Answer, new: &Answer, masks: &Masks, findings: &mut Findings) -> bool {
    if old.body == new.body {
        return false;
    }
    let Some(texts) = texts(&old.body, &new.body) else {
        let same = old.body.iter().zip(&new.body).take_while(|(a, b)| a == b);
        let place = same.count() + 1;
        let told = |body: &[u8]| Some(format!("{} bytes, other from byte {place} on", body.len()));
        findings.differ("body", None, told(&old.body), told(&new.body));
        return true;
    };
    let Some([a, b]) = masks.compare(&texts[0], &texts[1], &mut findings.hidden) else {
        return false;
    };
    let told = |body: &[u8]| Some(format!("{} bytes", body.len()));
    findings.differences.push(Difference {
        part: "body",
        name: None,
        old: told(&old.body),
        new: told(&new.body),
        excerpt: excerpt(&a, &b),
    });
    true
}
