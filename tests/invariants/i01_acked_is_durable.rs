//! I1: after an acknowledgement, kill -9, power loss of unsynced data and
//! restart lose nothing.
//!
//! Method: after every action of a run with crashes, the power is cut in
//! thought, with the worst that may be found: every acknowledged value must be
//! in the store or in a record that a start would read; and every record that
//! the journal may release must be in the store.

use proptest::prelude::*;
use simulation::World;
use simulation::action::{Action, Body, Cut, DiskTrouble, EPOCH, Item, Mix, Setup, actions, setup};
use simulation::invariants::acked_is_durable;

use super::cases;

const MIX: Mix = Mix {
    crashes: true,
    other_process: true,
    queries: false,
    conflicts: true,
    deletions: false,
};

const ROOMY: Setup = Setup {
    segment_bytes: 1 << 20,
    tail_bytes: 1 << 20,
    buffer_bytes: 1 << 20,
    part_bytes_max: None,
};

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn i01_what_was_acknowledged_survives_any_crash(
        setup in setup(),
        actions in actions(MIX, 60),
    ) {
        let run = || {
            let mut world = World::new(setup)?;
            for action in &actions {
                world.act(action)?;
                acked_is_durable::check(&world)?;
            }
            world.drain()?;
            acked_is_durable::check(&world)
        };
        prop_assert_eq!(run(), Ok(()));
    }
}

fn body(second: i64) -> Body {
    vec![Item::Reading {
        sensor: "S1",
        at: EPOCH + second * 1_000_000,
        values: vec![("temp", 1.5)],
    }]
}

/// A process that is killed in its sync leaves bytes that the next one reads
/// and the disk may still lose: they must be synced before anything follows
/// them, or a power cut leaves a gap that stops every start.
#[test]
fn i01_a_start_makes_durable_what_it_found() {
    let mut world = World::new(ROOMY).unwrap();
    for action in [
        Action::Ingest(vec![body(0)], Some(DiskTrouble::PowerFails(0))),
        Action::Kill(None),
        Action::Ingest(vec![body(1)], None),
        Action::PowerCut(Cut::Prefix(Vec::new()), None),
        Action::Apply(2),
    ] {
        world.act(&action).unwrap();
    }
    assert_eq!(world.process.recovered.records, 2);
    world.drain().unwrap();
    assert_eq!(world.store.written().len(), 2);
}

/// The applier read a segment to its end; before it reads on, the segment goes.
#[test]
fn i01_the_applier_reads_on_behind_a_released_segment() {
    let small = Setup {
        segment_bytes: 50,
        ..ROOMY
    };
    let mut world = World::new(small).unwrap();
    for second in 0..3 {
        let ingest = Action::Ingest(vec![body(second)], None);
        world.act(&ingest).unwrap();
    }
    let flush = Action::Flush {
        buckets_max: 1,
        everything: true,
        trouble: None,
    };
    for action in [
        Action::Kill(None),
        Action::Apply(1),
        flush,
        Action::Finish,
        Action::Release,
        Action::Apply(2),
    ] {
        world.act(&action).unwrap();
    }
    assert_eq!(world.process.progress.lag(), 0);
}
