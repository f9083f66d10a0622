//! I2: any mix of retries, reorderings, duplicates, crashes and unknown
//! outcomes stores each identity once.
//!
//! Method: after every action no identity stands twice in the store, parts and
//! elements together, and its value is the first of the journal's order or the
//! one that another process flushed before; after a run has come to rest, the
//! store holds exactly the identities that were durable.

use proptest::prelude::*;
use simulation::World;
use simulation::action::{Mix, actions, setup};
use simulation::invariants::exactly_once;

use super::cases;

const MIX: Mix = Mix {
    crashes: true,
    other_process: true,
    queries: false,
    conflicts: true,
    deletions: false,
};

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn i02_each_identity_is_stored_once(setup in setup(), actions in actions(MIX, 70)) {
        let run = || {
            let mut world = World::new(setup)?;
            for action in &actions {
                world.act(action)?;
                exactly_once::check(&world)?;
            }
            world.drain()?;
            exactly_once::at_rest(&world)
        };
        prop_assert_eq!(run(), Ok(()));
    }
}
