//! What is deleted stays deleted, and what comes after it stays, whatever happens
//! in between.
//!
//! Method: the model of the data path with deletions in the mix. After every
//! action the store holds nothing but the first values since the last deletion,
//! and what an open deletion is about; computed fields are true, the ledger
//! balances. Queries that began with no deletion open answer as if what was
//! deleted had never been. At rest the store holds exactly what is left, and each
//! sensor's newest readings are those of its buckets.

use proptest::prelude::*;
use simulation::World;
use simulation::action::{Action, Cut, Deletion, EPOCH, Item, Mix, Setup, actions, setup};
use simulation::invariants::{computed_true, deleted, ledger};

const MIX: Mix = Mix {
    crashes: true,
    other_process: false,
    queries: true,
    conflicts: true,
    deletions: true,
};

fn check(world: &World) -> Result<(), String> {
    deleted::check(world)?;
    computed_true::check(world)?;
    ledger::check(world)
}

fn run(setup: Setup, actions: &[Action]) -> Result<(), String> {
    let mut world = World::new(setup)?;
    for action in actions {
        world.act(action)?;
        check(&world)?;
    }
    world.drain()?;
    check(&world)?;
    deleted::at_rest(&world)
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
        for crash in [
            Action::Kill(None),
            Action::PowerCut(Cut::Prefix(Vec::new()), None),
        ] {
            let mut actions: Vec<Action> = whole[..ends_after].to_vec();
            actions.push(crash);
            // The next start replays on, as far as it gets, and goes down too.
            for replayed in 0..4 {
                let mut actions = actions.clone();
                actions.extend([Action::Apply(replayed), flush(), Action::Finish]);
                actions.push(Action::MakeDeletions(replayed, None));
                actions.push(Action::Kill(None));
                let done = run(ROOMY, &actions);
                assert_eq!(done, Ok(()), "down after {ends_after}, then {replayed}");
            }
        }
    }
}
