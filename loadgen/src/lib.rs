//! Sends simulated fleets of sensors to a running hourglass, measures the answers,
//! and checks that what comes out is what went in.
//!
//! A [`fleet`] is a pure function of its workload and seed; its [`plan`] is the
//! order of the batches. [`run`] takes it in rounds: each is encoded ahead
//! ([`round`], [`datagram`]) and sent, in a closed loop ([`post`]), by a schedule
//! ([`open_loop`]) or as datagrams ([`udp`]); answers are counted in a [`tally`],
//! which [`progress`] tells of meanwhile. [`check`] computes the plan again and
//! compares it with the answers, and the ledger on `/metrics` through
//! [`exposition`]. [`compare`] holds hourglass to other systems with the same
//! readings. [`command`] is all of it as the command line asks for it.

pub mod args;
pub mod body_format;
pub mod check;
pub mod command;
pub mod compare;
pub mod cpu;
pub mod datagram;
mod deliver;
pub mod exposition;
pub mod fleet;
pub mod http;
pub mod latency;
pub mod open_loop;
pub mod plan;
pub mod post;
pub mod progress;
pub mod report;
pub mod round;
pub mod run;
mod table;
pub mod tally;
mod ticker;
pub mod udp;
mod way;
pub mod workload;
