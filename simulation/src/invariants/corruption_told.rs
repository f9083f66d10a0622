//! I12: one byte of the journal, as a start would find it, is damaged in
//! thought. The start refuses it and names the place, or recovers a prefix of
//! what is durable that lacks at most the last group, and says so.

use std::sync::Arc;

use hourglass::journal::{Log, LogError, Space};

use crate::World;

/// Damages the byte that `choice` picks.
///
/// # Errors
/// What the start made of it.
pub fn check(world: &World, choice: u64) -> Result<(), String> {
    let disk = world.disk.after_power_cut(|_| 0);
    let names = disk.names();
    let bytes: usize = names.iter().map(|name| disk.bytes(name).len()).sum();
    if bytes == 0 {
        return Ok(());
    }
    let mut at = choice as usize % bytes;
    for name in names {
        let mut contents = disk.bytes(&name);
        if at >= contents.len() {
            at -= contents.len();
            continue;
        }
        // Never a change of nothing.
        contents[at] ^= 1 << (choice % 8);
        disk.overwrite(&name, contents);
        let space = Space::new(u64::MAX / 2);
        let opened = Log::open(Arc::new(disk.clone()), space, world.setup.segment_bytes);
        let whole = world.journalled.end();
        return match opened {
            Err(
                LogError::Damaged { segment, .. }
                | LogError::Version { segment, .. }
                | LogError::Gap { segment, .. },
            ) if segment == name => Ok(()),
            Ok((_, recovered)) if recovered.torn.is_some() && recovered.end_seq <= whole => Ok(()),
            // The header of a segment that nothing was written to is made anew.
            Ok((_, recovered)) if recovered.end_seq == whole => Ok(()),
            Ok((_, recovered)) => Err(format!(
                "I12: byte {at} of {name} is damaged and nothing is said: {recovered:?}"
            )),
            Err(error) => Err(format!("I12: byte {at} of {name} is damaged: {error}")),
        };
    }
    Ok(())
}
