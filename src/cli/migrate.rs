//! Arguments of `migrate`.

use std::ffi::OsString;

use super::args::MigrateFlags;
use crate::config::StorePlace;

/// From where to where: flags, else variables.
pub(super) fn places(
    flags: &MigrateFlags,
    variables: &[(OsString, OsString)],
) -> Result<(StorePlace, StorePlace), String> {
    let place = |flag: &str, given: &Option<String>, variable: &str| {
        let from_variable = || {
            let found = variables.iter().find(|(name, _)| name == variable);
            found.and_then(|(_, text)| text.to_str().map(str::to_owned))
        };
        let text = given.clone().or_else(from_variable).ok_or_else(|| {
            format!("migrate needs {flag}, or the variable {variable}: embedded:DIR or mongodb://HOST/DATABASE")
        })?;
        StorePlace::parse(&text).map_err(|error| format!("{flag}: {error}"))
    };
    let from = place("--from", &flags.from, "HOURGLASS_MIGRATE_FROM")?;
    let to = place("--to", &flags.to, "HOURGLASS_MIGRATE_TO")?;
    if from.is_same(&to) {
        return Err(format!("--from and --to are one store: {from}"));
    }
    Ok((from, to))
}
