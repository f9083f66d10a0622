//! Fewest reads (I11), as the server counts them: what each action of a user
//! costs with the documents as they are, and what it would cost with the design
//! that its pattern replaces. Both on the real MongoDB, over the same data.

mod anti_patterns;
mod fleet;
mod large_fleet;
mod profile;
mod shell;
mod table;
mod without;
