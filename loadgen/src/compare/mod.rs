//! The same readings into several systems, in one run on one machine.
//!
//! Every system is started in a new folder, filled, left to come to rest,
//! measured and stopped; then the next one's turn comes. Rounds repeat this, each
//! beginning with another system, so that what the machine does meanwhile meets
//! all of them. Figures are compared within a round only.

mod args;
mod disk;
mod documents;
mod echo;
mod error;
mod hourglass;
mod http_server;
mod influx;
mod load;
mod measure;
mod mongod;
mod peer;
mod plan;
mod programs;
mod question;
mod report;
mod run;
mod server;
mod single;
mod statistics;
mod system;
mod table;
mod victoria;
mod write;

pub use args::{
    BatchArgs, CommonArgs, CompareArgs, EchoArgs, Part, QueriesArgs, SingleArgs, WritesArgs,
};
pub use disk::{allocated, append_and_sync};
pub use echo::serve_echo;
pub use error::CompareError;
pub use load::GROUP_TICKS;
pub use programs::Programs;
pub use question::{Kind, Row};
pub use report::{Agreement, Figures, LeftOut, Ratio, Report, Round, SystemReport, Written};
pub use run::compare;
pub use statistics::{Latencies, Spread};
pub use system::{Program, System};
