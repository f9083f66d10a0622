//! Random choices that a failed test can be run with again.

use rand::SeedableRng;
use rand::rngs::StdRng;

/// Names the seed of all random choices.
const SEED_VARIABLE: &str = "HOURGLASS_TEST_SEED";

/// A generator with the seed of the variable, else a new one, which is printed.
pub(crate) fn seeded() -> StdRng {
    let seed = match std::env::var(SEED_VARIABLE) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => rand::random::<u64>(),
    };
    eprintln!("{SEED_VARIABLE}={seed}");
    StdRng::seed_from_u64(seed)
}
