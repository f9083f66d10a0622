//! I3: at every observable moment computed fields equal what `readings` says.
//!
//! Method: after every action every document of the store is recomputed from
//! its readings, naively and by the check that `verify` makes; only the last part of an hour is open; no document is larger
//! than a part may be, unless by a single element.

use proptest::prelude::*;
use simulation::World;
use simulation::action::{Mix, actions, setup};
use simulation::invariants::computed_true::check;

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
    fn i03_computed_fields_are_true_at_every_moment(
        setup in setup(),
        actions in actions(MIX, 70),
    ) {
        let run = || {
            let mut world = World::new(setup)?;
            for action in &actions {
                world.act(action)?;
                check(&world)?;
            }
            world.drain()?;
            check(&world)
        };
        prop_assert_eq!(run(), Ok(()));
    }
}
