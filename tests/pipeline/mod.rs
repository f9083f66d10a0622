//! From the journal to the store, part by part: the tail and the applier, the
//! buffer's bound, the journal's low-water mark, what the flusher takes when,
//! what it does when the store fails for some, and
//! lists of sensors in between.

mod applier;
mod buffer;
mod builders;
mod deleted_newest;
mod due;
mod flusher;
mod labels;
mod low_water;
mod rounds;
mod sensor_lists;
