//! Computes the hash that maps requests to members. The hash is the same after restarts and on all
//! machines.

/// Mixes the bits with a well-known finaliser: every input bit affects every output bit.
pub fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Hashes with FNV-1a and mixes the result. The hash is stable, so the same paths go to the same
/// members after a restart.
pub fn hash(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold))
}
