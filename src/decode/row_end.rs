//! Where an item ends in a body of lines.

/// Where a row or line ends that may hold line ends in its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowEnd {
    /// Behind its line end, or at the end of the text.
    At(usize),
    /// Nowhere: the text ends inside quotes.
    Open,
    /// Nowhere: up to here there are more cells than there may be.
    TooWide(usize),
    /// Nowhere: here something follows a closing quote.
    Unsound(usize),
}
