//! Requests of these tests.

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::support::hourglass::Hourglass;

/// An answer: status, entity tag, body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) etag: Option<String>,
    pub(super) location: Option<String>,
    pub(super) retry_after: Option<String>,
    pub(super) body: Value,
}

impl Answer {
    pub(super) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

/// Sends a change with headers.
pub(super) async fn change(
    hourglass: &Hourglass,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: String,
) -> Answer {
    let mut request = hourglass.http().request(method, hourglass.url(path));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.body(body).send().await.unwrap();
    let header = |name: &str| {
        let value = response.headers().get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    let (etag, location) = (header("etag"), header("location"));
    let retry_after = header("retry-after");
    let status: StatusCode = response.status();
    let text = response.text().await.unwrap();
    Answer {
        status: status.as_u16(),
        etag,
        location,
        retry_after,
        body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
    }
}

pub(super) async fn put(hourglass: &Hourglass, path: &str, body: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    change(hourglass, Method::PUT, path, &json, body.to_string()).await
}

pub(super) async fn patch(hourglass: &Hourglass, path: &str, body: &Value) -> Answer {
    let patch = [("content-type", "application/merge-patch+json")];
    change(hourglass, Method::PATCH, path, &patch, body.to_string()).await
}
