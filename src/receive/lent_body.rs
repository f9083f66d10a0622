//! The body of a request, lent to who answers it: what is left unread comes
//! back, and is read and dropped before the answer goes out.
//!
//! A sender that is told "413" while it still sends meets a closed connection,
//! and most clients then report a broken pipe and not the answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::HttpBody;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::time::timeout;

/// Most bytes read of a body that nobody wants. Who sends more may meet the
/// closed connection.
const DISCARDED_BYTES_MAX: usize = 128 << 20;

/// Longest wait for more of it, and longest time for all.
const PAUSE_MAX: Duration = Duration::from_secs(2);
const TIME_MAX: Duration = Duration::from_secs(30);

/// A body that returns to its lender when dropped before its end.
pub(super) struct LentBody<B> {
    inner: Option<B>,
    /// Not returned unless it was read from.
    only_if_read: bool,
    lender: Lender<B>,
}

/// Where an unread rest returns to.
pub(super) struct Lender<B>(Arc<Mutex<Option<B>>>);

impl<B> Lender<B> {
    /// The rest, if there is one.
    pub(super) fn take(&self) -> Option<B> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<B: HttpBody> LentBody<B> {
    pub(super) fn lend(body: B, only_if_read: bool) -> (Self, Lender<B>) {
        let place = Arc::default();
        let lent = Self {
            inner: (!body.is_end_stream()).then_some(body),
            only_if_read,
            lender: Lender(Arc::clone(&place)),
        };
        (lent, Lender(place))
    }
}

impl<B> Drop for LentBody<B> {
    fn drop(&mut self) {
        if !self.only_if_read {
            let mut place = self.lender.0.lock().unwrap_or_else(PoisonError::into_inner);
            *place = self.inner.take();
        }
    }
}

impl<B: HttpBody + Unpin> HttpBody for LentBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.only_if_read = false;
        let Some(body) = &mut self.inner else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(body).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            self.inner = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let none = || SizeHint::with_exact(0);
        self.inner.as_ref().map_or_else(none, HttpBody::size_hint)
    }
}

/// Reads and drops `body`, within bounds.
pub(super) async fn discard(mut body: impl HttpBody<Data = Bytes> + Unpin) {
    let read = async {
        let mut bytes = 0;
        while bytes < DISCARDED_BYTES_MAX
            && let Ok(Some(Ok(frame))) = timeout(PAUSE_MAX, body.frame()).await
        {
            bytes += frame.data_ref().map_or(0, Bytes::len);
        }
    };
    // What is left then is left to the connection, which closes.
    drop(timeout(TIME_MAX, read).await);
}
