//! `GET /v1/rejected` and `GET /v1/rejected/totals`: refused items, to be looked
//! at, mended and posted again.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::params::Params;
use super::{ApiState, Problem};
use crate::decode::ItemForm;
use crate::model::RejectCode;
use crate::quarantine::{ItemsForm, RejectedQuery, Segments};

const PARAMETERS: [&str; 8] = [
    "reason", "from", "to", "limit", "order", "cursor", "form", "format",
];

pub(super) async fn get(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read(query.as_deref(), &PARAMETERS)?;
    let form = match params.one("form")? {
        None | Some("records") => ItemsForm::Records,
        Some("items") => ItemsForm::Items,
        Some(other) => {
            return Err(Problem::parameter(format!(
                "`form` is records or items, not `{other}`"
            )));
        }
    };
    let item = match (params.one("format")?, form) {
        (None, ItemsForm::Records) => None,
        (None | Some("json"), _) => Some(ItemForm::Json),
        (Some("line"), _) => Some(ItemForm::Line),
        (Some("csv"), ItemsForm::Records) => Some(ItemForm::Csv),
        (Some("csv"), ItemsForm::Items) => {
            return Err(Problem::parameter(
                "rows of CSV belong to their headers, so `form=items` has none; ask for records, \
                 each has the header of its row",
            ));
        }
        (Some(other), _) => {
            return Err(Problem::parameter(format!(
                "`format` is json, line or csv, not `{other}`"
            )));
        }
    };
    let segments = state
        .quarantine
        .find(RejectedQuery {
            reasons: reasons(&params)?,
            range: params.range(state.clock.now())?,
            order: params.order()?,
            cursor: cursor(&params)?,
            item,
            form,
            limit: params.limit()?.unwrap_or(usize::MAX),
        })
        .await;
    let media_type = match (form, item) {
        (ItemsForm::Items, Some(ItemForm::Line)) => "text/plain; charset=utf-8",
        _ => "application/x-ndjson",
    };
    let headers = [(header::CONTENT_TYPE, media_type)];
    Ok((headers, Body::from_stream(pieces(segments))).into_response())
}

fn reasons(params: &Params) -> Result<Vec<RejectCode>, Problem> {
    let read = |name: &str| {
        let mut codes = RejectCode::ALL.into_iter();
        codes.find(|code| code.as_str() == name).ok_or_else(|| {
            let known = RejectCode::ALL.map(RejectCode::as_str).join(", ");
            Problem::parameter(format!(
                "`reason` is one of {known}, not `{name}`; several are given one by one"
            ))
        })
    };
    params.all("reason").map(read).collect()
}

fn cursor(params: &Params) -> Result<Option<u64>, Problem> {
    let Some(text) = params.one("cursor")? else {
        return Ok(None);
    };
    let id = text.parse().map_err(|_| {
        Problem::parameter(format!(
            "`cursor` is the `id` of the last record that was read, not `{text}`"
        ))
    })?;
    Ok(Some(id))
}

/// A segment a piece, so that one is in memory at a time.
fn pieces(segments: Segments) -> impl futures_util::Stream<Item = std::io::Result<Vec<u8>>> {
    futures_util::stream::try_unfold(segments, |mut segments| async move {
        let work = tokio::task::spawn_blocking(move || (segments.next_lines(), segments));
        let (lines, segments) = work.await.map_err(std::io::Error::other)?;
        match lines {
            Ok(lines) => Ok(lines.map(|lines| (lines, segments))),
            Err(error) => {
                tracing::warn!(%error, "an answer of refused items breaks off");
                // So that what was written goes out before the connection is cut.
                tokio::task::yield_now().await;
                Err(error)
            }
        }
    })
}

pub(super) async fn totals(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    let totals = state.quarantine.totals().await;
    let by_code = |counts: [(RejectCode, u64); RejectCode::ALL.len()]| -> Map<String, Value> {
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        counts
            .map(|(code, count)| (code.as_str().to_owned(), count.into()))
            .collect()
    };
    let rejected = RejectCode::ALL.map(|code| (code, state.ledger.rejected(code)));
    let mut body = json!({
        "since": totals.since.to_string(),
        "rejected": by_code(rejected),
        "notKept": totals.not_kept,
        "kept": by_code(totals.kept),
    });
    if let Some(oldest) = totals.oldest {
        body["oldest"] = oldest.to_string().into();
    }
    let headers = [(header::CONTENT_TYPE, "application/json")];
    Ok((headers, body.to_string()).into_response())
}
