//! Posts simulated fleets of sensors to a running hourglass over HTTP, measures
//! the answers, and checks that what comes out is what went in.
//!
//! A [`fleet`] is a pure function of its workload and seed; its [`plan`] is the
//! order of the batches. [`run`] posts them through [`http`] and measures with
//! [`post`] and [`cpu`]; [`check`] computes the plan again and compares it with
//! the answers, and the ledger on `/metrics` through [`exposition`]. [`command`]
//! is all of it as the command line asks for it. [`compare`] holds hourglass to
//! other systems with the same readings.

pub mod args;
pub mod check;
pub mod command;
pub mod compare;
pub mod cpu;
pub mod exposition;
pub mod fleet;
pub mod http;
pub mod plan;
pub mod post;
pub mod report;
pub mod run;
pub mod workload;
