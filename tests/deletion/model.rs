//! What is deleted stays deleted, and what comes after it stays, whatever happens
//! in between.
//!
//! Method: the model of the data path with deletions in the mix. After every
//! action the store holds nothing but the first values since the last deletion,
//! and what an open deletion is about; computed fields are true, the ledger
//! balances. Queries that began with no deletion open answer as if what was
//! deleted had never been. At rest the store holds exactly what is left, and each
//! sensor's newest readings are those of its buckets.

use hourglass::bucket::{Merge, check as differences};
use hourglass::flush::low_water;
use hourglass::model::MeasureName;
use hourglass::store::StoredBucket;
use proptest::prelude::*;

use crate::model::action::{Action, Deletion, EPOCH, Item, Mix, Setup, actions, setup};
use crate::model::naive::{Values, values_in};
use crate::model::run::World;

const MIX: Mix = Mix {
    crashes: true,
    other_process: false,
    queries: true,
    conflicts: true,
    deletions: true,
};

/// Stored values; where one stands that no deletion and no record explains, why
/// it should not.
fn stored(world: &World) -> Result<Values, String> {
    let mut stored = Values::new();
    for bucket in world.store.buckets() {
        computed_is_true(&bucket)?;
        for (identity, value) in values_in(&bucket) {
            let first = world.journalled.first.get(&identity);
            let is_first = first.is_some_and(|first| first.to_bits() == value.to_bits());
            let mut open = world.journalled.open.values();
            if !is_first && !open.any(|deletion| deletion.is_about(&identity)) {
                return Err(format!("{identity:?} is {value:?}, must be {first:?}"));
            }
            if stored.insert(identity.clone(), value).is_some() {
                return Err(format!("{identity:?} stands twice"));
            }
        }
    }
    Ok(stored)
}

fn computed_is_true(bucket: &StoredBucket) -> Result<(), String> {
    let mut merge = Merge::default();
    for part in &bucket.parts {
        let from = merge.elements().len();
        for element in part.elements.iter() {
            merge.add(element.offset, element.values());
        }
        let actual = merge.computed(from, merge.elements().len());
        let magnitude = |name: &MeasureName| {
            let values = part.elements.iter().filter_map(|e| e.value(name));
            values.map(f64::abs).sum()
        };
        if let Some(difference) = differences(&part.computed, &actual, magnitude).first() {
            return Err(format!("I3: {}: {difference}", bucket.key));
        }
    }
    Ok(())
}

fn check(world: &World) -> Result<(), String> {
    stored(world)?;
    let process = &world.process;
    let ledger = process.ledger.snapshot(process.buffer.pending_values());
    if !ledger.balances() {
        return Err(format!("I7: the ledger does not balance: {ledger:?}"));
    }
    // The journal keeps a deletion until it is done.
    let low_water = low_water(&process.progress, &process.buffer);
    match world.journalled.open.keys().find(|seq| **seq < low_water) {
        None => Ok(()),
        Some(seq) => Err(format!("deletion {seq} may be released and is not done")),
    }
}

fn at_rest(world: &mut World) -> Result<(), String> {
    world.drain()?;
    check(world)?;
    let stored = stored(world)?;
    if !world.journalled.open.is_empty() {
        return Err(format!("not done: {:?}", world.journalled.open));
    }
    match stored.keys().eq(world.journalled.first.keys()) {
        true => Ok(()),
        false => Err(format!(
            "stored {stored:?}, left {:?}",
            world.journalled.first
        )),
    }
}

fn run(setup: Setup, actions: &[Action]) -> Result<(), String> {
    let mut world = World::new(setup)?;
    for action in actions {
        world.act(action)?;
        check(&world)?;
    }
    at_rest(&mut world)
}

proptest! {
    #![proptest_config(crate::invariants::cases(250))]

    #[test]
    fn what_is_deleted_stays_deleted_and_what_comes_later_stays(
        setup in setup(),
        actions in actions(MIX, 70),
    ) {
        prop_assert_eq!(run(setup, &actions), Ok(()));
    }
}

const ROOMY: Setup = Setup {
    segment_bytes: 1 << 20,
    tail_bytes: 1 << 20,
    buffer_bytes: 1 << 20,
    part_bytes_max: None,
};

fn send(value: f64) -> Action {
    let reading = |second: i64| Item::Reading {
        sensor: "S1",
        at: EPOCH + second * 1_000_000,
        values: vec![("temp", value)],
    };
    Action::Ingest(vec![(0..6).map(reading).collect()], None)
}

fn flush() -> Action {
    Action::Flush {
        buckets_max: 3,
        everything: true,
        trouble: None,
    }
}

/// Readings, a deletion of some, other values for all of their instants: the
/// power goes at every sync, with every step of the store before and behind it.
#[test]
fn a_crash_at_every_step_leaves_what_was_not_deleted_and_what_came_after() {
    let deletion = Deletion {
        sensor: "S1",
        from: EPOCH + 1_000_000,
        to: EPOCH + 4_000_000,
    };
    let whole = [
        send(1.5),
        Action::Apply(1),
        flush(),
        Action::Finish,
        Action::Delete(deletion),
        Action::Apply(1),
        Action::MakeDeletions(2, None),
        send(2.5),
        Action::Apply(2),
        flush(),
        Action::MakeDeletions(2, None),
        Action::MakeDeletions(2, None),
        Action::MakeDeletions(4, None),
        Action::MakeDeletions(400, None),
        Action::Apply(4),
        flush(),
        Action::Finish,
        Action::Release,
    ];
    for ends_after in 0..=whole.len() {
        for crash in [Action::Kill, Action::PowerCut(Vec::new())] {
            let mut actions: Vec<Action> = whole[..ends_after].to_vec();
            actions.push(crash);
            // The next start replays on, as far as it gets, and goes down too.
            for replayed in 0..4 {
                let mut actions = actions.clone();
                actions.extend([Action::Apply(replayed), flush(), Action::Finish]);
                actions.push(Action::MakeDeletions(replayed, None));
                actions.push(Action::Kill);
                let done = run(ROOMY, &actions);
                assert_eq!(done, Ok(()), "down after {ends_after}, then {replayed}");
            }
        }
    }
}
