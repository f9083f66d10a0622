//! I2: no identity stands twice in the store, parts and elements together, and
//! its value is the first of the journal's order or the one that another process
//! flushed before.

use std::collections::BTreeSet;

use crate::World;
use crate::naive::{Identity, Values, values_in};

/// What another process wrote, ever.
fn others(world: &World) -> Values {
    let mut others = Values::new();
    for written in world.store.written() {
        if world.is_of_other_process(&written) {
            let sensor = written.sensor.as_str().to_owned();
            let measure = written.measure.as_str().to_owned();
            others.insert((sensor, written.at.get(), measure), written.value);
        }
    }
    others
}

/// What is stored.
///
/// # Errors
/// Something stands there twice, or is not the first.
pub fn check(world: &World) -> Result<Values, String> {
    let others = match world.other_wrote {
        true => others(world),
        false => Values::new(),
    };
    let mut stored = Values::new();
    for bucket in world.store.buckets() {
        let values = values_in(&bucket);
        let instants: BTreeSet<i64> = values.iter().map(|((_, at, _), _)| *at).collect();
        let count: u64 = bucket.parts.iter().map(|part| part.computed.count).sum();
        if count != instants.len() as u64 {
            return Err(format!("I2: {} counts {count}: {instants:?}", bucket.key));
        }
        for (identity, value) in values {
            let first = others.get(&identity);
            let first = first.or_else(|| world.journalled.first.get(&identity));
            if first.map(|value| value.to_bits()) != Some(value.to_bits()) {
                return Err(format!(
                    "I2: {identity:?} is {value:?}, was first {first:?}"
                ));
            }
            if stored.insert(identity.clone(), value).is_some() {
                return Err(format!("I2: {identity:?} stands twice"));
            }
        }
    }
    Ok(stored)
}

/// The store holds exactly the identities that were durable.
///
/// # Errors
/// Those that differ.
pub fn at_rest(world: &World) -> Result<(), String> {
    let stored = check(world)?;
    let others = others(world);
    let durable: BTreeSet<&Identity> = world.journalled.first.keys().chain(others.keys()).collect();
    match stored.keys().eq(durable.iter().copied()) {
        true => Ok(()),
        false => Err(format!("I2: stored {stored:?}, durable {durable:?}")),
    }
}
