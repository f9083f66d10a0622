//! `GET /v1/rejected`: refused items, to be mended and sent again; and how many
//! there are.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Map, Value, json};

use super::params::Params;
use super::{ApiState, Problem};
use crate::model::RejectCode;
use crate::quarantine::Question;

/// Lines of an answer where the request says no `limit`, and at most.
const LIMIT_DEFAULT: u64 = 10_000;
const LIMIT_MAX: u64 = 1_000_000;

const FORMATS: [&str; 3] = ["json", "csv", "line-protocol"];

/// The oldest first, one a line, a segment in memory at a time.
pub(super) async fn get(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let known = ["reason", "format", "from", "to", "limit", "form"];
    let params = Params::read(query.as_deref(), &known)?;
    let range = params.range(state.clock.now())?;
    let question = Question {
        reason: params.one("reason")?.map(reason).transpose()?,
        format: params.one("format")?.map(format).transpose()?,
        from: Some(range.from),
        to: Some(range.to),
        items_only: match params.one("form")? {
            None | Some("records") => false,
            Some("items") => true,
            Some(other) => {
                let detail = format!("`form` is records or items, not `{other}`");
                return Err(Problem::parameter(detail));
            }
        },
    };
    if question.items_only && question.format.is_none() {
        return Err(Problem::parameter(
            "items are sent again in one format: name it with `format` (json, csv or line-protocol)",
        ));
    }
    let limit = match params.one("limit")? {
        None => LIMIT_DEFAULT,
        Some(text) => text
            .parse()
            .ok()
            .filter(|limit| (1..=LIMIT_MAX).contains(limit))
            .ok_or_else(|| {
                Problem::parameter(format!("`limit` is 1 to {LIMIT_MAX}, not `{text}`"))
            })?,
    };
    let content_type = match question.items_only {
        true => "text/plain; charset=utf-8",
        false => "application/x-ndjson",
    };
    let parts = state.quarantine.parts().into_iter();
    let chunks = stream::try_unfold(
        (parts, limit, question),
        |(mut parts, left, question)| async move {
            let Some(part) = parts.next().filter(|_| left > 0) else {
                return Ok(None);
            };
            let read = tokio::task::spawn_blocking(move || {
                let read = part.read(&question, left);
                (read, question)
            });
            let (read, question) = read.await.map_err(std::io::Error::other)?;
            let (lines, count) = read?;
            std::io::Result::Ok(Some((Bytes::from(lines), (parts, left - count, question))))
        },
    );
    let headers = [(header::CONTENT_TYPE, content_type)];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

/// How many are kept by reason, and how many were refused since the start.
pub(super) async fn totals(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    let totals = state.quarantine.totals();
    let by_code = |counts: Vec<(RejectCode, u64)>| -> Map<String, Value> {
        let counts = counts.into_iter();
        counts
            .map(|(code, items)| (code.as_str().to_owned(), items.into()))
            .collect()
    };
    let refused = RejectCode::ALL.into_iter();
    let refused = refused.map(|code| (code, state.ledger.rejected(code)));
    let body = json!({
        "kept": by_code(totals.kept),
        "bytes": totals.bytes,
        "lost": totals.lost,
        "sinceStart": by_code(refused.filter(|(_, items)| *items > 0).collect()),
    });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    Ok((headers, body.to_string()).into_response())
}

fn reason(text: &str) -> Result<RejectCode, Problem> {
    let mut codes = RejectCode::ALL.into_iter();
    codes.find(|code| code.as_str() == text).ok_or_else(|| {
        let known: Vec<&str> = RejectCode::ALL.iter().map(|code| code.as_str()).collect();
        Problem::parameter(format!(
            "`reason` is one of {}, not `{text}`",
            known.join(", ")
        ))
    })
}

fn format(text: &str) -> Result<String, Problem> {
    match FORMATS.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(Problem::parameter(format!(
            "`format` is one of {}, not `{text}`",
            FORMATS.join(", ")
        ))),
    }
}
