//! Requests with an idempotency key: the same one again is given the first
//! answer and stores nothing, whatever happened in between (I1, I2 for readings
//! without a time of their own).

mod builders;
mod crash;
mod damage;
mod expiry;
mod hang_up;
mod replay;
mod requests;
mod restart;
mod saver;
mod service;
mod waiting;
