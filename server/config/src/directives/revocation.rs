//! Parses `SSLCARevocationCheck` and `SSLProxyCARevocationCheck`.

use super::row::*;
use crate::{RevocationCheck, RevocationDepth};

pub(super) const SHAPE: Shape = words("none|leaf|chain [no_crl_for_cert_ok]", 1, 2);

pub(super) fn check(arguments: &Arguments) -> Result<RevocationCheck, Fault> {
    let word = arguments.filled(0)?;
    let depth = match word.to_ascii_lowercase().as_str() {
        "none" => RevocationDepth::None,
        "leaf" => RevocationDepth::Leaf,
        "chain" => RevocationDepth::Chain,
        _ => {
            let message = format!("expected none, leaf or chain, not `{word}`");
            let known = ["none", "leaf", "chain"].into_iter();
            return Err(arguments.fault(0, message).or_nearest(word, known));
        }
    };
    let flag = arguments.words.get(1);
    let is_known = |text: &str| text.eq_ignore_ascii_case("no_crl_for_cert_ok");
    if let Some(flag) = flag.filter(|flag| !is_known(&flag.text)) {
        let message = format!("expected no_crl_for_cert_ok, not `{}`", flag.text);
        return Err(arguments.fault(1, message));
    }
    Ok(RevocationCheck {
        depth,
        permits_unlisted: flag.is_some(),
    })
}
