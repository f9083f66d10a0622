//! What one connection does: its requests are counted, so that a quiet one can
//! be told from a busy one, and none is answered before its body is read.

use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::{Request, Response, StatusCode, Version, header};
use axum::{BoxError, Error};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tower_service::Service;

use super::lent_body::{LentBody, discard};

/// Put into the extensions of an answer: the request's body has stalled, so its
/// rest is not waited for before the answer goes out. An answer of 408 says it
/// by its status.
#[derive(Debug, Clone, Copy)]
pub struct BodyStalled;

/// Put into the extensions of a request: whose connection it came over, which is
/// a proxy's where there is one.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// The requests of one connection so far.
#[derive(Debug, Default)]
pub(super) struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Activity {
    /// Resolves once, for `span` at least, no request was under way. It looks
    /// every `span`, so it may take twice that.
    pub(super) async fn quiet_for(&self, span: Duration) {
        let count = || {
            let ended = self.ended.load(Ordering::Acquire);
            (self.begun.load(Ordering::Acquire), ended)
        };
        let mut before = count();
        loop {
            tokio::time::sleep(span).await;
            let now = count();
            if now == before && now.0 == now.1 {
                return;
            }
            before = now;
        }
    }

    fn begin(self: &Arc<Self>) -> UnderWay {
        self.begun.fetch_add(1, Ordering::AcqRel);
        UnderWay(Arc::clone(self))
    }
}

/// A request that is not answered to its end.
struct UnderWay(Arc<Activity>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::AcqRel);
    }
}

/// The routes as one connection calls them.
#[derive(Debug, Clone)]
pub(super) struct ConnectionRoutes {
    pub(super) routes: Router,
    pub(super) activity: Arc<Activity>,
    pub(super) peer: Peer,
}

impl<B> Service<Request<B>> for ConnectionRoutes
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request<LentBody<B>>>::poll_ready(&mut self.routes, context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let under_way = self.activity.begin();
        // HTTP/2 ends a stream alone; and who asks whether to go on sends
        // nothing unless it is read.
        let is_apart = request.version() == Version::HTTP_2;
        let asks = request.headers().contains_key(header::EXPECT);
        let (mut head, body) = request.into_parts();
        head.extensions.insert(self.peer);
        let (body, rest) = LentBody::lend(body, asks);
        let answer = self.routes.call(Request::from_parts(head, body));
        Box::pin(async move {
            let Ok(response) = answer.await;
            let stalled = response.status() == StatusCode::REQUEST_TIMEOUT
                || response.extensions().get::<BodyStalled>().is_some();
            if let Some(rest) = rest.take()
                && !is_apart
                && !stalled
            {
                discard(rest).await;
            }
            Ok(response.map(|body| AnswerBody {
                body,
                _under_way: under_way,
            }))
        })
    }
}

/// The body of an answer; its request is under way until it is sent.
pub(super) struct AnswerBody {
    body: Body,
    _under_way: UnderWay,
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_quiet_when_nothing_is_under_way_for_a_span() {
        let activity = Arc::new(Activity::default());
        let request = activity.begin();
        let busy = tokio::time::timeout(100 * SPAN, activity.quiet_for(SPAN)).await;
        assert!(busy.is_err());
        drop(request);
        let quiet = tokio::time::timeout(2 * SPAN, activity.quiet_for(SPAN)).await;
        assert!(quiet.is_ok());
    }
}
