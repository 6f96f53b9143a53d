//! The request fields that `Vary` names: which variant of a page a request asks for (RFC 9111
//! section 4.1).

use crate::Field;

/// Names in lower case, and the values of a request.
pub type Varied = Vec<(Vec<u8>, Vec<u8>)>;

/// Returns whether a request with these fields asks for this variant.
pub fn fits(variant: &Varied, asked: &[Field<'_>]) -> bool {
    let same = |(name, value): &(Vec<u8>, Vec<u8>)| combined(asked, name) == *value;
    variant.iter().all(same)
}

/// Returns the variant for which a request with these fields asks. `names`: another variant of the
/// same page.
pub fn of(names: &Varied, asked: &[Field<'_>]) -> Varied {
    let own = |(name, _): &(Vec<u8>, Vec<u8>)| (name.clone(), combined(asked, name));
    names.iter().map(own).collect()
}

/// Joins all values of a field, without blanks. An absent field gives no bytes, and an empty field
/// gives a comma, because the two must not match each other (RFC 9111 section 4.1).
pub(crate) fn combined(asked: &[Field<'_>], name: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut is_there = false;
    for (known, value) in asked {
        if known.eq_ignore_ascii_case(name) {
            is_there = true;
            for part in value.split(|byte| *byte == b',') {
                if !all.is_empty() {
                    all.push(b',');
                }
                all.extend_from_slice(part.trim_ascii());
            }
        }
    }
    if is_there && all.is_empty() {
        all.push(b',');
    }
    all
}
