//! Bad input to the HTTP interface, over real sockets (invariant I9): none
//! stalls the process or costs another item its place, and each is told what
//! was wrong, where, and what to do. What only looks bad is taken.

mod answers;

mod bodies;
mod bombs;
mod csv;
mod dry_run;
mod encodings;
mod fields;
mod heads;
mod measure_names;
mod ndjson;
mod neighbours;
mod queries;
mod routes;
mod sensor_ids;
mod sizes;
mod stalls;
mod times;
