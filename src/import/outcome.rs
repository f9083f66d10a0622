//! What the server says of a chunk.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The answer to a chunk of which the server read each item.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    pub(super) accepted: u64,
    pub(super) rejected: u64,
    pub(super) errors: Vec<Error>,
    pub(super) rejected_by_code: BTreeMap<String, u64>,
}

/// One refused item.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Error {
    /// Of the body that was sent.
    pub(super) line: Option<u64>,
    pub(super) field: Option<String>,
    pub(super) code: String,
    pub(super) detail: String,
}

/// A refused item of a file, as it is told and written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Reject {
    pub(super) file: String,
    /// Of the file, from 1.
    pub(super) line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) field: Option<String>,
    pub(super) code: String,
    pub(super) detail: String,
}

/// An answer of another kind.
#[derive(Debug, Deserialize)]
pub(super) struct Problem {
    pub(super) code: String,
    pub(super) detail: String,
}

impl Outcome {
    /// Of one item that no server takes.
    pub(super) fn too_large(detail: String) -> Self {
        const CODE: &str = "body_too_large";
        Self {
            accepted: 0,
            rejected: 1,
            errors: vec![Error {
                line: None,
                field: None,
                code: CODE.to_owned(),
                detail,
            }],
            rejected_by_code: BTreeMap::from([(CODE.to_owned(), 1)]),
        }
    }

    /// The rejections that are told one by one, by the lines of `file`: the body
    /// was `header_lines` and what stands in the file from `line` on.
    pub(super) fn rejects(
        &self,
        file: &str,
        header_lines: u64,
        line: u64,
    ) -> impl Iterator<Item = Reject> {
        self.errors.iter().map(move |error| {
            let behind = error.line.unwrap_or(1).saturating_sub(header_lines + 1);
            Reject {
                file: file.to_owned(),
                line: line + if error.line.is_some() { behind } else { 0 },
                field: error.field.clone(),
                code: error.code.clone(),
                detail: error.detail.clone(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_body_become_lines_of_the_file() {
        let outcome: Outcome = serde_json::from_str(
            r#"{"accepted":1,"rejected":2,"rejectedByCode":{"too_old":2},"serverTime":"x","errors":[
                {"index":0,"line":2,"code":"too_old","detail":"d"},
                {"index":1,"line":5,"field":"ts","code":"too_old","detail":"d"}]}"#,
        )
        .unwrap();
        let lines = |header_lines, line| -> Vec<u64> {
            let rejects = outcome.rejects("f", header_lines, line);
            rejects.map(|reject| reject.line).collect()
        };
        assert_eq!(lines(0, 1), [2, 5]);
        assert_eq!(lines(0, 101), [102, 105]);
        assert_eq!(lines(1, 2), [2, 5]);
        assert_eq!(lines(1, 102), [102, 105]);
        let alone = Outcome::too_large("d".to_owned());
        assert_eq!(alone.rejects("f", 1, 7).next().unwrap().line, 7);
    }
}
