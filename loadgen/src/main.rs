//! Load and comparison for hourglass.

fn main() {}
