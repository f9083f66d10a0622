//! The journal on a disk that crashes, fills up, fails and rots: nothing that
//! was acknowledged is lost, nothing is invented, nothing is skipped (I1, I12).

mod builders;
mod crash;
mod damage;
mod every_damage;
mod format;
mod no_room;
mod poison;
mod reader;
mod release;
mod running;
mod writer;
