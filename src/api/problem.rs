//! Errors at the HTTP border: `application/problem+json` (RFC 9457). Every
//! error of the modules behind is mapped here, and only here.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::decode::BodyError;
use crate::deletion::DeletionError;
use crate::ingest::IngestError;
use crate::journal::{AppendError, JournalError};
use crate::receive::ReceiveError;
use crate::registry::{ListError, RegistryError};
use crate::store::StoreError;

/// Seconds after which a refused sender may try again: a flush round frees
/// journal room in about this time.
pub(super) const RETRY_AFTER_SECONDS: u64 = 5;

/// An answer that is an error.
#[derive(Debug)]
pub struct Problem {
    pub(super) status: StatusCode,
    code: &'static str,
    pub(super) detail: String,
    /// In seconds.
    pub(super) retry_after: Option<u64>,
}

impl Problem {
    /// `code` is stable, for programs; `detail` tells people what was wrong,
    /// where, and what to do.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
            retry_after: None,
        }
    }

    /// 400 with code `invalid_parameter`.
    pub(super) fn parameter(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_parameter", detail)
    }

    /// 503 that may pass by itself.
    pub(super) fn unavailable(code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            retry_after: Some(RETRY_AFTER_SECONDS),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "code": self.code,
            "detail": self.detail,
        });
        let mut response = (self.status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<ReceiveError> for Problem {
    fn from(error: ReceiveError) -> Self {
        let (status, code) = match &error {
            ReceiveError::Busy => return Self::unavailable("busy", error.to_string()),
            ReceiveError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            ReceiveError::Bomb { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "body_ratio_too_high"),
            ReceiveError::UnsupportedEncoding { .. } => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding")
            }
            ReceiveError::Damaged { .. } => (StatusCode::BAD_REQUEST, "damaged_body"),
            ReceiveError::Stalled { .. } => (StatusCode::REQUEST_TIMEOUT, "body_stalled"),
            ReceiveError::Aborted(_) => (StatusCode::BAD_REQUEST, "body_aborted"),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        let code = match &error {
            BodyError::Empty => "empty_body",
            BodyError::InvalidJson { .. } => "invalid_json",
            BodyError::NotUtf8 { .. } => "not_utf8",
            BodyError::WrongShape { .. } => "wrong_shape",
            BodyError::CsvHeader { .. } => "invalid_csv_header",
        };
        Self::new(StatusCode::BAD_REQUEST, code, error.to_string())
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Self {
        let code = match &error {
            JournalError::TooLarge { .. } => {
                let status = StatusCode::PAYLOAD_TOO_LARGE;
                return Self::new(status, "batch_too_large", error.to_string());
            }
            JournalError::Full(_) => "journal_full",
            JournalError::Append(AppendError::NoRoom(_)) => "disk_full",
            JournalError::Append(AppendError::Poisoned(_)) => "journal_failed",
            JournalError::Stopping => "stopping",
        };
        Self::unavailable(code, error.to_string())
    }
}

impl From<IngestError> for Problem {
    fn from(error: IngestError) -> Self {
        match error {
            IngestError::Body(error) => error.into(),
            IngestError::Journal(error) => error.into(),
            IngestError::KeyReused => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency_key_reused",
                error.to_string(),
            ),
            IngestError::Answer(_) => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "idempotency_answer_unreadable",
                error.to_string(),
            ),
        }
    }
}

impl From<DeletionError> for Problem {
    fn from(error: DeletionError) -> Self {
        match error {
            DeletionError::TooMany => Self::unavailable("too_many_deletions", error.to_string()),
            DeletionError::Journal(error) => error.into(),
        }
    }
}

impl From<ListError> for Problem {
    fn from(error: ListError) -> Self {
        let code = match &error {
            ListError::Empty => "empty_body",
            ListError::Header(_) => "invalid_csv_header",
        };
        Self::new(StatusCode::BAD_REQUEST, code, error.to_string())
    }
}

impl From<RegistryError> for Problem {
    fn from(error: RegistryError) -> Self {
        let (status, code) = match error {
            RegistryError::Store(error) => return error.into(),
            RegistryError::Contended => {
                return Self::unavailable("contended", error.to_string());
            }
            RegistryError::Field(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_field"),
            RegistryError::UnknownSite(_) => (StatusCode::UNPROCESSABLE_ENTITY, "unknown_site"),
            RegistryError::TooManySensors(_) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "too_many_sensors")
            }
            RegistryError::Precondition(_) => {
                (StatusCode::PRECONDITION_FAILED, "precondition_failed")
            }
            RegistryError::Unknown { what: "site", .. } => (StatusCode::NOT_FOUND, "unknown_site"),
            RegistryError::Unknown { .. } => (StatusCode::NOT_FOUND, "unknown_sensor"),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Unavailable { .. } => {
                Self::unavailable("store_unavailable", error.to_string())
            }
            StoreError::Corrupt { .. } => {
                tracing::error!(%error, "a query met damaged data");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "store_corrupt",
                    error.to_string(),
                )
            }
            StoreError::Refused { .. } => {
                tracing::error!(%error, "the store refused a query");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "store_refused",
                    error.to_string(),
                )
            }
        }
    }
}
