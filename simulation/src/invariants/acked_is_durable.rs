//! I1: the power is cut in thought, with the worst that may be found. Every
//! acknowledged value is in the store or in a record that a start would read;
//! every record that the journal may release is in the store.

use std::collections::BTreeSet;
use std::sync::Arc;

use hourglass::flush::low_water;
use hourglass::journal::disk::Disk;
use hourglass::journal::{Log, LogReader, Space};
use hourglass::model::Batch;

use crate::World;
use crate::action::Setup;
use crate::disk::SimDisk;
use crate::naive::{Identity, values_in};

/// What a start on `disk` would find.
fn recoverable(disk: SimDisk, setup: Setup) -> Result<BTreeSet<Identity>, String> {
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let space = Space::new(u64::MAX / 2);
    let (_, recovered) = Log::open(Arc::clone(&disk), space, setup.segment_bytes)
        .map_err(|error| format!("I1: the journal would not open: {error}"))?;
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

/// # Errors
/// What was acknowledged is gone, or may go.
pub fn check(world: &World) -> Result<(), String> {
    let kept = recoverable(world.disk.after_power_cut(|_| 0), world.setup)?;
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
