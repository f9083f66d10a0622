//! I7: in items received = accepted + rejected (+ refused by the journal); in
//! values accepted + recovered = stored + duplicates + conflicts + pending, at
//! every moment at rest and over a chain of restarts.
//!
//! Method: the ledger must balance after every action; a start recovers what
//! the journal holds, to the value; after a run the terms themselves are
//! compared with the model's.

use proptest::prelude::*;

use super::cases;
use crate::model::action::{Action, Mix, actions, setup};
use crate::model::naive::values_in;
use crate::model::run::World;

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

fn check(world: &World) -> Result<(), String> {
    let process = &world.process;
    let ledger = process.ledger.snapshot(process.buffer.pending_values());
    if !ledger.balances() {
        return Err(format!("I7: the ledger does not balance: {ledger:?}"));
    }
    let recovered = &process.recovered;
    let first = recovered.first_seq.unwrap_or(recovered.end_seq);
    let records = (first..recovered.end_seq).map(|seq| world.journalled.record(seq).len() as u64);
    let values: u64 = records.sum();
    match ledger.recovered_values == values {
        true => Ok(()),
        false => Err(format!("I7: {values} values in the journal: {ledger:?}")),
    }
}

fn run(world: &mut World, actions: &[Action]) -> Result<(), String> {
    for action in actions {
        world.act(action)?;
        check(world)?;
    }
    world.drain()?;
    check(world)?;
    let process = &world.process;
    let ledger = process.ledger.snapshot(process.buffer.pending_values());
    if ledger.pending_values != 0 {
        return Err(format!("I7: at rest nothing is pending: {ledger:?}"));
    }
    if world.other_wrote || !world.view.others.is_empty() {
        return Ok(());
    }
    // What this process stored is what is there beyond what it found.
    let stored: usize = world
        .store
        .buckets()
        .iter()
        .map(|b| values_in(b).len())
        .sum();
    let stored = (stored - world.view.base.len()) as u64;
    let own = world.view.own.iter();
    let conflicts = own
        .filter(|(identity, value)| world.journalled.first[identity] != *value)
        .count() as u64;
    let duplicates = world.view.own.len() as u64 - stored - conflicts;
    let told = (
        ledger.stored_values,
        ledger.duplicate_values,
        ledger.conflict_values,
    );
    // What cannot be told apart is compared as one.
    let comparable = |(stored, duplicates, conflicts): (u64, u64, u64)| {
        match (world.was_set_aside, world.was_cold) {
            (false, false) => (stored, duplicates, conflicts),
            // Which of two values of a forgotten bucket came first is known
            // late, so a copy of a refused value may count as either.
            (false, true) => (stored, duplicates + conflicts, 0),
            // A write whose reply was lost and whose bucket was then set aside
            // is found in the store as if somebody else had made it.
            (true, false) => (stored + duplicates, 0, conflicts),
            (true, true) => (stored + duplicates + conflicts, 0, 0),
        }
    };
    let expected = (stored, duplicates, conflicts);
    match comparable(told) == comparable(expected) {
        true => Ok(()),
        false => Err(format!(
            "I7: stored, duplicates, conflicts {expected:?}: {ledger:?}"
        )),
    }
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn i07_the_ledger_balances_over_a_chain_of_restarts(
        setup in setup(),
        actions in actions(CHAIN, 70),
    ) {
        let run = || run(&mut World::new(setup)?, &actions);
        prop_assert_eq!(run(), Ok(()));
    }

    #[test]
    fn i07_each_term_is_what_the_model_counts(
        setup in setup(),
        actions in actions(ALONE, 70),
    ) {
        let run = || run(&mut World::new(setup)?, &actions);
        prop_assert_eq!(run(), Ok(()));
    }
}
