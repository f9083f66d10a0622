//! Chunks to the server, again where that may help.

use std::fmt::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use super::outcome::{Outcome, Problem};
use super::progress::Progress;

/// The first pause before another try; it doubles.
const PAUSE_MIN: Duration = Duration::from_millis(200);
/// The longest pause that the server did not ask for.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for an answer; then its outcome is unknown, and the key tells.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// The server does not take a chunk.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// It is not there, or not able to, for too long.
    #[error("{url}: given up after {}: {reason}", humantime(.tried_for))]
    GivenUp {
        /// Where it was sent.
        url: String,
        /// How long it was tried.
        tried_for: Duration,
        /// The last reason.
        reason: String,
    },
    /// It says that trying again does not help.
    #[error("{url}: the server answered {status}: {detail}")]
    Refused {
        /// Where it was sent.
        url: String,
        /// The status.
        status: u16,
        /// Why.
        detail: String,
    },
    /// Not an address that can be asked.
    #[error("{url}: {reason}")]
    Unreachable {
        /// Where it was sent.
        url: String,
        /// Why.
        reason: String,
    },
}

/// What came back.
#[derive(Debug)]
pub(super) enum Sent {
    /// Each item was read.
    Taken(Outcome),
    /// 413: nothing of it was read.
    TooLarge(String),
}

/// What one request came to.
enum Tried {
    Sent(Sent),
    /// Another try may help, after this time if the server named one.
    Later(String, Option<Duration>),
}

/// Sends to one server.
pub(super) struct Sender {
    agent: ureq::Agent,
    server: String,
    retry_for: Duration,
    /// Part of every key: nothing, or what no other import has.
    salt: String,
}

impl Sender {
    /// A sender whose keys are those of every import of the same chunks, or with
    /// `again` its own.
    pub(super) fn new(server: &str, retry_for: Duration, again: bool) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // The server is named outright.
            .proxy(None)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(REQUEST_TIMEOUT))
            .build();
        Self {
            agent: config.new_agent(),
            server: server.trim_end_matches('/').to_owned(),
            retry_for,
            salt: if again { own_salt() } else { String::new() },
        }
    }

    /// The key of a chunk: of its content, its place and how it is read.
    pub(super) fn key(&self, query: &str, offset: u64, body: &[u8]) -> String {
        let mut hash = Sha256::new();
        let (salt, query) = (self.salt.as_bytes(), query.as_bytes());
        for part in [b"import 1", salt, query, &offset.to_le_bytes(), body] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut key = String::from("import-");
        for byte in hash.finalize() {
            // Writing to a text does not fail.
            write!(key, "{byte:02x}").unwrap_or_default();
        }
        key
    }

    /// Sends a body until it is answered.
    ///
    /// # Errors
    /// [`SendError`]: it is not known to be taken.
    pub(super) fn send(
        &self,
        query: &str,
        key: &str,
        body: &[u8],
        progress: &Progress,
    ) -> Result<Sent, SendError> {
        let url = format!("{}/v1/readings?{query}", self.server);
        let started = Instant::now();
        let mut pause = PAUSE_MIN;
        let mut told = false;
        loop {
            let (reason, asked) = match self.try_once(&url, key, body)? {
                Tried::Sent(sent) => return Ok(sent),
                Tried::Later(reason, asked) => (reason, asked),
            };
            let wait = asked.unwrap_or(pause).max(pause);
            let tried_for = started.elapsed();
            if tried_for + wait > self.retry_for {
                return Err(SendError::GivenUp {
                    url,
                    tried_for,
                    reason,
                });
            }
            if !std::mem::replace(&mut told, true) {
                progress.note(&format!("{url}: {reason}; trying again"));
            }
            wait_for(wait);
            pause = pause.saturating_mul(2).min(PAUSE_MAX);
        }
    }

    fn try_once(&self, url: &str, key: &str, body: &[u8]) -> Result<Tried, SendError> {
        let request = self
            .agent
            .post(url)
            .header("idempotency-key", key)
            // A server that refuses by the head is heard before the body is sent.
            .header("expect", "100-continue");
        let answer = request.send(body).and_then(|mut answer| {
            let text = answer.body_mut().read_to_string()?;
            Ok((answer, text))
        });
        let (answer, text) = match answer {
            Ok(answer) => answer,
            Err(error) if is_passing(&error) => return Ok(Tried::Later(error.to_string(), None)),
            Err(error) => {
                return Err(SendError::Unreachable {
                    url: url.to_owned(),
                    reason: error.to_string(),
                });
            }
        };
        let status = answer.status().as_u16();
        if let Ok(outcome) = serde_json::from_str(&text) {
            return Ok(Tried::Sent(Sent::Taken(outcome)));
        }
        let detail = match serde_json::from_str::<Problem>(&text) {
            Ok(problem) => format!("{} ({})", problem.detail, problem.code),
            Err(_) => text.chars().take(200).collect(),
        };
        match status {
            413 => Ok(Tried::Sent(Sent::TooLarge(detail))),
            408 | 429 | 502 | 503 | 504 => {
                let asked = answer.headers().get("retry-after");
                let seconds = asked.and_then(|value| value.to_str().ok()?.trim().parse().ok());
                let reason = format!("the server answered {status}: {detail}");
                Ok(Tried::Later(reason, seconds.map(Duration::from_secs)))
            }
            status => Err(SendError::Refused {
                url: url.to_owned(),
                status,
                detail,
            }),
        }
    }
}

/// Whether the same request may be answered another time.
fn is_passing(error: &ureq::Error) -> bool {
    matches!(
        error,
        ureq::Error::Io(_)
            | ureq::Error::Timeout(_)
            | ureq::Error::ConnectionFailed
            | ureq::Error::Protocol(_)
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "nothing tells when a server is back: it is asked again after a pause"
)]
fn wait_for(pause: Duration) {
    std::thread::sleep(pause);
}

fn humantime(span: &Duration) -> String {
    format!("{:.1} s", span.as_secs_f64())
}

/// What no other import of this machine has.
fn own_salt() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since.map_or(0, |since| since.as_nanos());
    format!("{nanos} {}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_of_the_parameters_the_place_and_the_content() {
        let sender = |again| Sender::new("http://127.0.0.1:1", Duration::ZERO, again);
        let one = sender(false).key("format=csv", 0, b"x");
        assert_eq!(one, sender(false).key("format=csv", 0, b"x"));
        assert!(one.is_ascii() && one.len() < 100);
        for other in [
            sender(false).key("format=csv&unit=s", 0, b"x"),
            sender(false).key("format=csv", 1, b"x"),
            sender(false).key("format=csv", 0, b"y"),
            sender(true).key("format=csv", 0, b"x"),
        ] {
            assert_ne!(other, one);
        }
    }
}
