//! Tables of Markdown.

/// The rows of the table in `text` whose header has these `columns`, each row
/// as its cells.
pub(super) fn rows(text: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let mut lines = text.lines();
    lines
        .find(|line| line.starts_with('|') && cells(line) == columns)
        .unwrap_or_else(|| panic!("no table with the columns {columns:?}"));
    let rows: Vec<_> = lines
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .collect();
    assert!(!rows.is_empty(), "the table {columns:?} is empty");
    rows
}

fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner
        .split('|')
        .map(|cell| cell.trim().to_owned())
        .collect()
}

/// What stands between backticks in `cell`.
pub(super) fn names(cell: &str) -> Vec<String> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}
