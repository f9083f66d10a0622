//! I7: in items received = accepted + rejected (+ refused by the journal); in
//! values accepted + recovered = stored + duplicates + conflicts + pending, at
//! every moment at rest and over a chain of restarts.
//!
//! Method: the ledger must balance after every action; a start recovers what
//! the journal holds, to the value; after a run the terms themselves are
//! compared with the model's.

use proptest::prelude::*;
use simulation::World;
use simulation::action::{Action, Mix, actions, setup};
use simulation::invariants::ledger;

use super::cases;

const CHAIN: Mix = Mix {
    crashes: true,
    other_process: true,
    queries: false,
    conflicts: true,
    deletions: false,
};

/// One life of one process alone.
const ALONE: Mix = Mix {
    crashes: false,
    other_process: false,
    ..CHAIN
};

fn run(world: &mut World, mix: Mix, actions: &[Action]) -> Result<(), String> {
    for action in actions {
        world.act(action)?;
        ledger::check(world)?;
    }
    world.drain()?;
    ledger::check(world)?;
    ledger::at_rest(world, mix)
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn i07_the_ledger_balances_over_a_chain_of_restarts(
        setup in setup(),
        actions in actions(CHAIN, 70),
    ) {
        let run = || run(&mut World::new(setup)?, CHAIN, &actions);
        prop_assert_eq!(run(), Ok(()));
    }

    #[test]
    fn i07_each_term_is_what_the_model_counts(
        setup in setup(),
        actions in actions(ALONE, 70),
    ) {
        let run = || run(&mut World::new(setup)?, ALONE, &actions);
        prop_assert_eq!(run(), Ok(()));
    }
}
