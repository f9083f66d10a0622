//! I1: after an acknowledgement, kill -9, power loss of unsynced data and
//! restart lose nothing.
//!
//! Method: after every action of a run with crashes, the power is cut in
//! thought, with the worst that may be found: every acknowledged value must be
//! in the store or in a record that a start would read; and every record that
//! the journal may release must be in the store.

use std::collections::BTreeSet;
use std::sync::Arc;

use hourglass::flush::low_water;
use hourglass::journal::disk::Disk;
use hourglass::journal::{Log, LogReader, Space};
use hourglass::model::Batch;
use proptest::prelude::*;

use super::cases;
use crate::model::action::{Action, Body, DiskTrouble, EPOCH, Item, Mix, Setup, actions, setup};
use crate::model::naive::{Identity, values_in};
use crate::model::run::World;
use crate::support::sim_disk::SimDisk;

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

/// What a start on `disk` would find.
fn recoverable(disk: SimDisk, setup: Setup) -> Result<BTreeSet<Identity>, String> {
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let (_, recovered) = Log::open(
        Arc::clone(&disk),
        Space::new(u64::MAX / 2),
        setup.segment_bytes,
    )
    .map_err(|error| format!("the journal would not open: {error}"))?;
    let mut found = BTreeSet::new();
    let first = recovered.first_seq.unwrap_or(recovered.end_seq);
    let mut reader = LogReader::new(disk, first);
    for seq in first..recovered.end_seq {
        let record = reader.read(seq).map_err(|e| e.to_string())?;
        for reading in record.batch().into_iter().flat_map(Batch::readings) {
            let (sensor, at) = (reading.sensor().as_str(), reading.at().get());
            let measures = reading.values();
            found.extend(measures.map(|(m, _)| (sensor.to_owned(), at, m.as_str().to_owned())));
        }
    }
    Ok(found)
}

fn check(world: &World) -> Result<(), String> {
    let worst = world.disk.after_power_cut(|_| 0);
    let kept = recoverable(worst, world.setup)?;
    let stored = world.store.buckets();
    let stored: BTreeSet<Identity> = stored
        .iter()
        .flat_map(values_in)
        .map(|(identity, _)| identity)
        .collect();
    let gone = |seq: u64, kept: &BTreeSet<Identity>| {
        let values = world.journalled.record(seq).iter();
        let mut identities = values.map(|(identity, _)| identity);
        identities.find(|id| !kept.contains(*id) && !stored.contains(*id))
    };
    for seq in &world.journalled.acknowledged {
        if let Some(identity) = gone(*seq, &kept) {
            return Err(format!(
                "I1: record {seq} was acknowledged, {identity:?} is gone"
            ));
        }
    }
    // What the journal may release need not be gone yet.
    let low_water = low_water(&world.process.progress, &world.process.buffer);
    for seq in 1..low_water {
        if let Some(identity) = gone(seq, &BTreeSet::new()) {
            return Err(format!(
                "I1: record {seq} may be released, {identity:?} is not stored"
            ));
        }
    }
    Ok(())
}

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
                check(&world)?;
            }
            world.drain()?;
            check(&world)
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
        Action::Kill,
        Action::Ingest(vec![body(1)], None),
        Action::PowerCut(Vec::new()),
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
        Action::Kill,
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
