//! I7: in items received = accepted + rejected (+ refused by the journal); in
//! values accepted + recovered = stored + duplicates + conflicts + expired +
//! deleted + pending; a start recovers what the journal holds, to the value.

use crate::World;
use crate::action::Mix;
use crate::naive::values_in;

/// After every action.
///
/// # Errors
/// The ledger that does not balance.
pub fn check(world: &World) -> Result<(), String> {
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

/// At rest nothing is pending, and where that can be said the terms themselves
/// are what the model counts.
///
/// # Errors
/// The ledger, and what was expected.
pub fn at_rest(world: &World, mix: Mix) -> Result<(), String> {
    let process = &world.process;
    let ledger = process.ledger.snapshot(process.buffer.pending_values());
    if ledger.pending_values != 0 {
        return Err(format!("I7: at rest nothing is pending: {ledger:?}"));
    }
    if mix.deletions || world.other_wrote || !world.view.others.is_empty() {
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
