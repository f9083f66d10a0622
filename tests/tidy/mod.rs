//! The rules of the tree, read from `ARCHITECTURE.md` and held against the
//! sources: who imports whom, which crate stays where, how files look.

mod crates;
mod files;
mod imports;
mod sources;
mod tables;
mod words;
