//! What several stages share, and what is measured of them.

mod edm;
mod film;
mod tuning;

pub use edm::Edm;
pub use film::Film;
pub use tuning::{Choice, Rates};
