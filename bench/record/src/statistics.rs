//! Draws conclusions from paired or unpaired measurements of two variants.
//!
//! All statistics use logarithms, because speeds are compared by factors: a change by 1.1 and a
//! change back by 1/1.1 must cancel. The module only calculates. The caller decides what runs in
//! which order.

mod comparison;
mod holm;
mod sample;
mod signed_rank;
mod trend;

pub use comparison::{Better, Comparison, Conclusion, Interval, LARGE, LEAST_BLOCKS};
pub use holm::holm;
pub use sample::{batch_correlation, drift, mean_and_deviation, t_quantile, t_two_sided};
pub use signed_rank::{hodges_lehmann, signed_rank_p};
pub use trend::{theil_sen, trend_probability, warm_up_end};
