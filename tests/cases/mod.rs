//! What went wrong in other ingestion services, by kind, end to end: a row of
//! the list each (C02 to C26), on the real binary and its stores. Rows that
//! pure code can show are beside that code.

mod bodies;
mod builders;
mod bulk;
mod conflicts;
mod hidden_part;
mod identity;
mod keys;
mod parts;
mod stamps;
mod tags;
mod time;
mod values;
mod visible;
