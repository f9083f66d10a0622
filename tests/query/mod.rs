//! The query interface from outside: what is asked, and what comes.

mod conflicts;
mod cors;
mod fixture;
mod formats;
mod health;
mod many;
mod pages;
mod parameters;
mod ranges;
mod sensors;
