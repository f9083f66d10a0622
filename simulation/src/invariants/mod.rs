//! What must hold after every action, each invariant once: for the property
//! tests and for long hunts alike.

pub mod acked_is_durable;
pub mod bounded;
pub mod computed_true;
pub mod corruption_told;
pub mod deleted;
pub mod exactly_once;
pub mod ledger;

use crate::World;
use crate::action::Mix;

/// After every action.
///
/// # Errors
/// The invariant that does not hold, and what shows it.
pub fn after_action(world: &World, mix: Mix) -> Result<(), String> {
    bounded::check(world)?;
    computed_true::check(world)?;
    ledger::check(world)?;
    match mix.deletions {
        true => deleted::check(world),
        false => exactly_once::check(world).map(drop),
    }
}

/// What a start would find now, for the cost of starting.
///
/// # Errors
/// As [`after_action`].
pub fn of_the_journal(world: &World, mix: Mix, choice: u64) -> Result<(), String> {
    if !mix.deletions {
        acked_is_durable::check(world)?;
    }
    corruption_told::check(world, choice)
}

/// At rest, when everything durable has reached the store.
///
/// # Errors
/// As [`after_action`].
pub fn at_rest(world: &World, mix: Mix) -> Result<(), String> {
    after_action(world, mix)?;
    of_the_journal(world, mix, 0)?;
    ledger::at_rest(world, mix)?;
    match mix.deletions {
        true => deleted::at_rest(world),
        false => exactly_once::at_rest(world),
    }
}
