//! One keep-alive HTTP/1.1 connection, opened when it is needed.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{
    ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER, SERVER,
};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Seconds an answer may take: longer than a group commit by far, short enough
/// to end a run against a server that hangs.
const ANSWER_SECONDS_MAX: u64 = 30;
/// Bytes of an answer: 6 hours of readings at 1 kHz fit.
const ANSWER_BYTES_MAX: usize = 4 << 30;

/// Why no answer came.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address given cannot be used.
    #[error("the url {url} cannot be used: {why}; write it like http://127.0.0.1:8080")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// No connection.
    #[error("no connection to {address}: {source}; is hourglass running there?")]
    Connect {
        /// Host and port.
        address: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(#[from] hyper::Error),
    /// The answer broke off or was too long.
    #[error("the answer broke off: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
    /// The request cannot be written.
    #[error("the request cannot be written: {0}")]
    Request(#[from] hyper::http::Error),
    /// No answer in time.
    #[error("no answer within {ANSWER_SECONDS_MAX} s")]
    Timeout,
}

/// Where a server listens.
#[derive(Debug, Clone)]
pub struct Target {
    address: String,
    host: HeaderValue,
    base: String,
}

impl Target {
    /// From a URL such as `http://127.0.0.1:8080`.
    ///
    /// # Errors
    /// It is no URL, has no host or is not plain HTTP.
    pub fn new(url: &str) -> Result<Self, HttpError> {
        let refuse = |why| HttpError::Url {
            url: url.to_owned(),
            why,
        };
        let uri: Uri = url.parse().map_err(|_| refuse("it is not a url"))?;
        if uri.scheme_str() != Some("http") {
            return Err(refuse("only plain http is spoken"));
        }
        let authority = uri.authority().ok_or_else(|| refuse("it names no host"))?;
        if uri.query().is_some() || authority.as_str().contains('@') {
            return Err(refuse("it has more than host, port and path"));
        }
        Ok(Self {
            address: format!(
                "{}:{}",
                authority.host(),
                authority.port_u16().unwrap_or(80)
            ),
            host: HeaderValue::from_str(authority.as_str())
                .map_err(|_| refuse("its host is no header value"))?,
            base: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: StatusCode,
    /// `Retry-After`, where it is a number of seconds.
    pub retry_after: Option<Duration>,
    /// The `Server` header.
    pub server: Option<String>,
    /// The body.
    pub body: Bytes,
}

/// A connection that opens when it is needed and again after it broke.
#[derive(Debug)]
pub struct Connection {
    target: Target,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    /// To a server; nothing is opened yet.
    #[must_use]
    pub fn new(target: &Target) -> Self {
        Self {
            target: target.clone(),
            open: None,
        }
    }

    /// Opens the connection where it is not open.
    ///
    /// # Errors
    /// Nobody listens there.
    pub async fn open(&mut self) -> Result<(), HttpError> {
        self.sender().await.map(|_| ())
    }

    /// Posts a body and reads the answer.
    ///
    /// # Errors
    /// No whole answer came; whether the server took the body is not known.
    pub async fn post(
        &mut self,
        path: &str,
        content_type: &'static str,
        body: Bytes,
    ) -> Result<Answer, HttpError> {
        self.post_coded(path, content_type, None, body).await
    }

    /// Posts a body with a `Content-Encoding` and reads the answer.
    ///
    /// # Errors
    /// As [`Connection::post`].
    pub async fn post_coded(
        &mut self,
        path: &str,
        content_type: &'static str,
        content_encoding: Option<&'static str>,
        body: Bytes,
    ) -> Result<Answer, HttpError> {
        let mut request = Request::builder()
            .method(Method::POST)
            .header(CONTENT_TYPE, content_type);
        if let Some(coding) = content_encoding {
            request = request.header(CONTENT_ENCODING, coding);
        }
        self.answer(path, request, Full::new(body)).await
    }

    /// Gets a page and reads it.
    ///
    /// # Errors
    /// No whole answer came.
    pub async fn get(&mut self, path: &str, accept: &'static str) -> Result<Answer, HttpError> {
        let request = Request::builder()
            .method(Method::GET)
            .header(ACCEPT, accept);
        self.answer(path, request, Full::default()).await
    }

    async fn answer(
        &mut self,
        path: &str,
        request: hyper::http::request::Builder,
        body: Full<Bytes>,
    ) -> Result<Answer, HttpError> {
        let request = request
            .uri(format!("{}{path}", self.target.base))
            .header(HOST, self.target.host.clone())
            .body(body)?;
        let limit = Duration::from_secs(ANSWER_SECONDS_MAX);
        let answer = timeout(limit, self.exchange(request))
            .await
            .unwrap_or(Err(HttpError::Timeout));
        if answer.is_err() {
            self.open = None;
        }
        answer
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<Answer, HttpError> {
        let response = self.sender().await?.send_request(request).await?;
        let status = response.status();
        let text = |name| response.headers().get(name).and_then(|v| v.to_str().ok());
        let retry_after = text(RETRY_AFTER)
            .and_then(|text| text.parse().ok())
            .map(Duration::from_secs);
        let server = text(SERVER).map(str::to_owned);
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX)
            .collect()
            .await
            .map_err(HttpError::Body)?
            .to_bytes();
        Ok(Answer {
            status,
            retry_after,
            server,
            body,
        })
    }

    async fn sender(&mut self) -> Result<&mut SendRequest<Full<Bytes>>, HttpError> {
        let usable = match &mut self.open {
            Some(open) => open.sender.ready().await.is_ok(),
            None => false,
        };
        if !usable {
            self.open = None;
        }
        let open = match self.open.take() {
            Some(open) => open,
            None => self.connect().await?,
        };
        Ok(&mut self.open.insert(open).sender)
    }

    async fn connect(&self) -> Result<Open, HttpError> {
        let failed = |source| HttpError::Connect {
            address: self.target.address.clone(),
            source,
        };
        let stream = TcpStream::connect(&self.target.address)
            .await
            .map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let (sender, driver) = handshake(TokioIo::new(stream)).await?;
        let driver = tokio::spawn(async move {
            // An error of the connection reaches the request that waits on it.
            drop(driver.await);
        });
        Ok(Open { sender, driver })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_host_port_and_a_path_before_every_page() {
        let target = Target::new("http://[::1]:8080/behind/proxy/").unwrap();
        assert_eq!(target.address, "[::1]:8080");
        assert_eq!(target.base, "/behind/proxy");
        assert_eq!(Target::new("http://host").unwrap().address, "host:80");
    }

    #[test]
    fn a_url_that_cannot_be_posted_to_says_why() {
        for (url, why) in [
            ("https://host", "only plain http"),
            ("host:8080", "only plain http"),
            ("http://user@host", "more than host"),
            ("no url", "not a url"),
        ] {
            let refused = Target::new(url).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
