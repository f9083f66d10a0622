//! Requests with a key to a real process.

use reqwest::Response;

use crate::support::hourglass::Hourglass;

/// An answer as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) is_replayed: bool,
    pub(super) body: String,
}

impl Answer {
    /// What the same request is answered again.
    pub(super) fn again(&self) -> Self {
        Self {
            is_replayed: true,
            ..self.clone()
        }
    }

    /// The code of a problem.
    pub(super) fn code(&self) -> String {
        let problem: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        problem["code"].as_str().unwrap().to_owned()
    }

    pub(super) async fn of(response: Response) -> Self {
        let replayed = response.headers().get("idempotency-replayed");
        Self {
            status: response.status().as_u16(),
            is_replayed: replayed.is_some_and(|value| value == "true"),
            body: response.text().await.unwrap(),
        }
    }
}

/// Posts JSON with `key`.
pub(super) async fn post(hourglass: &Hourglass, key: &str, body: &str) -> Answer {
    post_with(hourglass, &[("idempotency-key", key)], body).await
}

/// Posts JSON with headers.
pub(super) async fn post_with(
    hourglass: &Hourglass,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let request = hourglass.http().post(hourglass.url("/v1/readings"));
    let mut request = request.header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Answer::of(request.body(body.to_owned()).send().await.unwrap()).await
}

/// Readings of `sensor`, wherever they are.
pub(super) async fn count(hourglass: &Hourglass, sensor: &str) -> usize {
    let path = format!("/v1/sensors/{sensor}/readings?limit=100000");
    let (status, answer) = hourglass.get(&path).await;
    assert_eq!(status, 200, "{answer}");
    answer["readings"].as_array().unwrap().len()
}
