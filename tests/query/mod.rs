//! The query interface over real sockets: ranges, pages, formats, measures,
//! many sensors, conflicts, and what surrounds them. Answers are the same
//! whether readings are in the store, in the buffer, or in both.

mod answers;

mod attributes;
mod conflicts;
mod formats;
mod latest;
mod many;
mod measures;
mod pages;
mod parameters;
mod ranges;
mod sensor_filters;
mod sensor_page;
mod sensors;
mod silence;
mod site_hourly;
mod surroundings;
