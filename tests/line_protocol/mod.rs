//! The line protocol decoder against a second, independent one: the crate
//! `influxdb-line-protocol`, which InfluxDB 3 itself reads with.

mod agreement;
mod generated;
mod readers;
