//! The `hourglass` command.

fn main() {}
