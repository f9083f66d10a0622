//! Errors in InfluxDB's forms.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::dialect::Dialect;
use crate::api::Problem;
use crate::api::problem::RETRY_AFTER_SECONDS;
use crate::receive::BodyStalled;

/// Repeats the message of version 1; some clients show only this.
const ERROR_HEADER: HeaderName = HeaderName::from_static("x-influxdb-error");

/// Most bytes of a message in that header; proxies refuse long ones.
const ERROR_HEADER_BYTES_MAX: usize = 512;

/// An answer that is an error.
#[derive(Debug)]
pub(super) struct InfluxError {
    dialect: Dialect,
    status: StatusCode,
    message: String,
    /// In seconds.
    retry_after: Option<u64>,
    stalled: bool,
}

impl InfluxError {
    pub(super) fn new(dialect: Dialect, status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            dialect,
            status,
            message: message.into(),
            retry_after: None,
            stalled: false,
        }
    }

    /// 400: sending it again would not help.
    pub(super) fn invalid(dialect: Dialect, message: impl Into<String>) -> Self {
        Self::new(dialect, StatusCode::BAD_REQUEST, message)
    }

    /// What `problem` says.
    pub(super) fn of(dialect: Dialect, problem: Problem) -> Self {
        let stalled = problem.status == StatusCode::REQUEST_TIMEOUT;
        let (status, retry_after) = if stalled {
            // A body that stalls was cut by the network: it may arrive the next
            // time, but after a 408 Telegraf never sends it again.
            (StatusCode::SERVICE_UNAVAILABLE, Some(RETRY_AFTER_SECONDS))
        } else {
            (problem.status, problem.retry_after)
        };
        Self {
            dialect,
            status,
            message: problem.detail,
            retry_after,
            stalled,
        }
    }
}

/// Version 2's word for a status.
fn code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST => "invalid",
        StatusCode::UNAUTHORIZED => "unauthorized",
        StatusCode::NOT_FOUND => "not found",
        StatusCode::METHOD_NOT_ALLOWED => "method not allowed",
        StatusCode::PAYLOAD_TOO_LARGE => "request too large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported media type",
        StatusCode::UNPROCESSABLE_ENTITY => "unprocessable entity",
        StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        _ => "internal error",
    }
}

/// `message` as a header's value: one line of ASCII, cut.
fn header_value(message: &str) -> HeaderValue {
    let end = message.floor_char_boundary(ERROR_HEADER_BYTES_MAX);
    let visible = |c: char| {
        if c == ' ' || c.is_ascii_graphic() {
            c
        } else {
            '?'
        }
    };
    let text: String = message[..end].chars().map(visible).collect();
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("error"))
}

impl IntoResponse for InfluxError {
    fn into_response(self) -> Response {
        let body = match self.dialect {
            Dialect::V1 => json!({ "error": self.message }),
            Dialect::V2 => json!({ "code": code(self.status), "message": self.message }),
        };
        let mut response = (self.status, body.to_string()).into_response();
        let headers = response.headers_mut();
        let media_type = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, media_type);
        if self.dialect == Dialect::V1 {
            headers.insert(ERROR_HEADER, header_value(&self.message));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = match self.dialect {
                Dialect::V1 => "Basic realm=\"hourglass\"",
                Dialect::V2 => "Token realm=\"hourglass\"",
            };
            let scheme = HeaderValue::from_static(scheme);
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.stalled {
            response.extensions_mut().insert(BodyStalled);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_becomes_one_bounded_line_of_ascii_in_the_header() {
        let message = format!("bad\r\nname \u{e9}: {}", "x".repeat(1000));
        let value = header_value(&message);
        let text = value.to_str().unwrap();
        assert!(text.starts_with("bad??name ?: xxx"), "{text}");
        assert!(text.len() <= ERROR_HEADER_BYTES_MAX, "{}", text.len());
    }
}
