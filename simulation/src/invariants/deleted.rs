//! What is deleted stays deleted: the store holds nothing but the first values
//! since the last deletion, and what an open deletion is about; the journal keeps
//! a deletion until it is done.

use hourglass::flush::low_water;

use crate::World;
use crate::naive::{Values, values_in};

/// Stored values; where one stands that no deletion and no record explains, why
/// it should not.
fn stored(world: &World) -> Result<Values, String> {
    let mut stored = Values::new();
    for bucket in world.store.buckets() {
        for (identity, value) in values_in(&bucket) {
            let first = world.journalled.first.get(&identity);
            let is_first = first.is_some_and(|first| first.to_bits() == value.to_bits());
            let mut open = world.journalled.open.values();
            if !is_first && !open.any(|deletion| deletion.is_about(&identity)) {
                return Err(format!("{identity:?} is {value:?}, must be {first:?}"));
            }
            if stored.insert(identity.clone(), value).is_some() {
                return Err(format!("I2: {identity:?} stands twice"));
            }
        }
    }
    Ok(stored)
}

/// After every action.
///
/// # Errors
/// What should not be there, or a deletion that may be forgotten.
pub fn check(world: &World) -> Result<(), String> {
    stored(world)?;
    let process = &world.process;
    let low_water = low_water(&process.progress, &process.buffer);
    match world.journalled.open.keys().find(|seq| **seq < low_water) {
        None => Ok(()),
        Some(seq) => Err(format!("deletion {seq} may be released and is not done")),
    }
}

/// All deletions are done, and the store holds exactly what is left.
///
/// # Errors
/// What differs.
pub fn at_rest(world: &World) -> Result<(), String> {
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
