//! Requests of servers that take their queries as a form.

use std::time::Duration;

use bytes::Bytes;

use super::CompareError;
use super::disk::allocated;
use crate::http::{Answer, Connection};
use crate::tally::excerpt;

/// Between two looks at files.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Looks in a row that see the same size when files rest.
const LOOKS_AT_REST: u32 = 8;
const LOOKS_MAX: u32 = 240;

/// Posts fields as a form; the answer must be a success.
pub(super) async fn submit(
    server: &'static str,
    connection: &mut Connection,
    path: &str,
    fields: &[(&str, &str)],
) -> Result<Answer, CompareError> {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    let content_type = "application/x-www-form-urlencoded";
    let posted = connection.post(path, content_type, Bytes::from(body)).await;
    let answer = posted.map_err(CompareError::http(server))?;
    match answer.status.is_success() {
        true => Ok(answer),
        false => Err(CompareError::Answer {
            server,
            what: format!("{} to {path}: {}", answer.status, excerpt(&answer.body)),
        }),
    }
}

/// Waits until the files below a folder have kept their size for 4 s, for two
/// minutes at most.
pub(super) async fn files_at_rest(folder: &std::path::Path) -> Result<(), CompareError> {
    let (mut size, mut same) = (allocated(folder)?, 0);
    for _ in 0..LOOKS_MAX {
        // Another process: there is no event to wait for.
        tokio::time::sleep(LOOK_AGAIN).await;
        let now = allocated(folder)?;
        same = if now == size { same + 1 } else { 0 };
        size = now;
        if same >= LOOKS_AT_REST {
            break;
        }
    }
    Ok(())
}
