//! The columns of a CSV body, from the parameters of the request.

use super::Problem;
use super::params::Params;
use crate::decode::{CsvColumns, CsvZone};
use crate::model::{MEASURES_PER_READING_MAX, MeasureName};

/// Parameters that are no measures.
const RESERVED: [&str; 8] = [
    "format",
    "unit",
    "tz",
    "delimiter",
    "dry_run",
    "sensorId",
    "ts",
    "ageMs",
];

/// Reads `sensorId`, `ts`, `ageMs`, `tz`, `delimiter`, and measures: any other
/// parameter is a measure, and its value the column.
pub(super) fn csv_columns(params: &Params) -> Result<CsvColumns, Problem> {
    let mut columns = CsvColumns::by_name();
    columns.sensor = params.one("sensorId")?.map(str::to_owned);
    columns.time = params.one("ts")?.map(str::to_owned);
    columns.age = params.one("ageMs")?.map(str::to_owned);
    if let Some(name) = params.one("tz")? {
        columns.zone = CsvZone::new(name).ok_or_else(|| {
            Problem::parameter(format!(
                "`tz` is the IANA name of a time zone such as Europe/Berlin, not `{name}`"
            ))
        })?;
    }
    if let Some(name) = params.one("delimiter")?
        && !columns.set_delimiter(name)
    {
        return Err(Problem::parameter(format!(
            "`delimiter` is a comma, a semicolon (%3B) or tab, not `{name}`"
        )));
    }
    for (measure, column) in params.pairs() {
        if RESERVED.contains(&measure) {
            continue;
        }
        // Refuses one that is given twice.
        params.one(measure)?;
        MeasureName::new(measure)
            .map_err(|error| Problem::parameter(format!("the measure `{measure}`: {error}")))?;
        if columns.measures.len() == MEASURES_PER_READING_MAX {
            return Err(Problem::parameter(format!(
                "{MEASURES_PER_READING_MAX} measures are the most that a reading may have"
            )));
        }
        columns
            .measures
            .push((measure.to_owned(), column.to_owned()));
    }
    Ok(columns)
}
