//! Media types: what a body is, and what an answer shall be.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, header};

use super::Problem;
use super::csv_columns::csv_columns;
use super::params::Params;
use crate::decode::TextOnly;
use crate::ingest::Format;

/// The form of an answer of readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerFormat {
    Json,
    NdJson,
    Csv,
}

impl AnswerFormat {
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::NdJson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8",
        }
    }
}

/// The format of a body, by `format=` or else by Content-Type. The columns of
/// CSV are told by the other parameters.
pub(super) fn body_format(params: &Params, headers: &HeaderMap) -> Result<Format, Problem> {
    let csv = || Ok(Format::Csv(Arc::new(csv_columns(params)?)));
    if let Some(name) = params.one("format")? {
        return match name {
            "json" => Ok(Format::Json),
            "ndjson" => Ok(Format::NdJson),
            "csv" => csv(),
            "line" => Ok(Format::LineProtocol(TextOnly::Refuse)),
            other => Err(Problem::parameter(format!(
                "`format` is json, ndjson, csv or line, not `{other}`"
            ))),
        };
    }
    let given = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim();
    match media_type.to_ascii_lowercase().as_str() {
        "application/json" => Ok(Format::Json),
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Ok(Format::NdJson),
        "text/csv" => csv(),
        "text/plain" => Ok(Format::LineProtocol(TextOnly::Refuse)),
        _ => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            format!(
                "the content type `{given}` is not taken here; send application/json, \
                 application/x-ndjson, text/csv or text/plain (line protocol), or say \
                 ?format=json, ?format=ndjson, ?format=csv or ?format=line"
            ),
        )),
    }
}

/// The form of an answer, by `format=` or else by Accept; JSON by default.
pub(super) fn answer_format(
    format: Option<&str>,
    headers: &HeaderMap,
) -> Result<AnswerFormat, Problem> {
    if let Some(name) = format {
        return match name {
            "json" => Ok(AnswerFormat::Json),
            "ndjson" => Ok(AnswerFormat::NdJson),
            "csv" => Ok(AnswerFormat::Csv),
            other => Err(Problem::parameter(format!(
                "`format` is json, ndjson or csv, not `{other}`"
            ))),
        };
    }
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        // An empty header asks for nothing in particular.
        .filter(|accept| !accept.trim().is_empty())
        .unwrap_or("*/*");
    // The order of the header decides; weights are not looked at.
    for range in accept.split(',') {
        let media_type = range.split(';').next().unwrap_or_default().trim();
        match media_type.to_ascii_lowercase().as_str() {
            "application/json" | "application/*" | "*/*" => return Ok(AnswerFormat::Json),
            "application/x-ndjson" | "application/ndjson" => return Ok(AnswerFormat::NdJson),
            "text/csv" | "text/*" => return Ok(AnswerFormat::Csv),
            _ => {}
        }
    }
    Err(Problem::new(
        StatusCode::NOT_ACCEPTABLE,
        "not_acceptable",
        format!(
            "none of `{accept}` can be had; ask for application/json, application/x-ndjson or \
             text/csv"
        ),
    ))
}
