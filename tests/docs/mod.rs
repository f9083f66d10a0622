//! The documentation says what is so: names, numbers, bytes and routes in it are
//! compared with the code and with the running binary, in both directions.

mod formats;
mod indexes;
mod limits;
mod links;
mod logs;
mod metrics;
mod openapi;

/// A file of the repository.
fn read(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What stands between backticks in `text`, code blocks apart.
fn quoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}
