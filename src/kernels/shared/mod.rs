//! Code that several stages share, and the measurements that choose tiles and engine.

mod edm;
mod film;
mod fold;
pub(super) mod optimizer;
pub(super) mod precondition;
mod tuning;
mod verification;

pub use edm::Edm;
pub use film::Film;
pub use fold::Fold;
pub use tuning::{Choice, Rates};
