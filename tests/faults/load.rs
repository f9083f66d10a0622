//! Devices that send a fleet's batches: the same batch again, as real ones do,
//! until it is answered 202.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch;

use super::fleet::Fleet;

/// Requests in flight.
const SENDERS: usize = 8;
/// What a device waits before it sends a batch again.
const AGAIN_AFTER: Duration = Duration::from_millis(20);
/// What a device waits for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// How long the faults' next point may be away before the test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// The longest pauses of ingestion as its senders see them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pauses {
    /// From the first try of a batch to its 202.
    pub(super) longest_request: Duration,
    /// From one 202 to the next, of any sender.
    pub(super) longest_gap: Duration,
    last_answer: Instant,
}

/// A fleet being sent to one process or several.
pub(super) struct Load {
    fleet: Fleet,
    urls: Vec<String>,
    http: reqwest::Client,
    next: AtomicUsize,
    is_over: AtomicBool,
    acknowledged: watch::Sender<HashSet<usize>>,
    pauses: Mutex<Pauses>,
}

impl Load {
    /// `fleet`, sent to the `addresses` in turn.
    pub(super) fn of(fleet: &Fleet, addresses: &[&str]) -> Arc<Self> {
        let url = |address: &&str| format!("http://{address}/v1/readings");
        Arc::new(Self {
            fleet: fleet.clone(),
            urls: addresses.iter().map(url).collect(),
            http: reqwest::Client::builder()
                .timeout(ANSWER_WITHIN)
                .build()
                .unwrap(),
            next: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            acknowledged: watch::channel(HashSet::new()).0,
            pauses: Mutex::new(Pauses {
                longest_request: Duration::ZERO,
                longest_gap: Duration::ZERO,
                last_answer: Instant::now(),
            }),
        })
    }

    /// Sends it in the background; the task ends when all is acknowledged.
    pub(super) fn start(self: &Arc<Self>) -> tokio::task::JoinHandle<()> {
        let load = Arc::clone(self);
        tokio::spawn(async move {
            let senders = (0..SENDERS).map(|_| load.send());
            futures_util::future::join_all(senders).await;
        })
    }

    async fn send(&self) {
        loop {
            let batch = self.next.fetch_add(1, Ordering::Relaxed);
            if batch >= self.fleet.batches() {
                return;
            }
            let (body, begun) = (self.fleet.body(batch), Instant::now());
            let mut urls = self.urls.iter().cycle().skip(batch % self.urls.len());
            let mut again = tokio::time::interval(AGAIN_AFTER);
            loop {
                again.tick().await;
                if self.is_over.load(Ordering::Acquire) {
                    return;
                }
                let url = urls.next().unwrap();
                if self.is_acknowledged(url, body.clone()).await {
                    break;
                }
            }
            self.note(batch, begun);
        }
    }

    /// Whether the batch was answered 202. No answer, half of one or a 5xx means
    /// again; nothing else may come.
    async fn is_acknowledged(&self, url: &str, body: String) -> bool {
        let request = self
            .http
            .post(url)
            .header("content-type", "application/json");
        let Ok(response) = request.body(body).send().await else {
            return false;
        };
        let status = response.status().as_u16();
        let has_retry_after = response.headers().contains_key("retry-after");
        let Ok(text) = response.text().await else {
            return false;
        };
        assert!(!text.contains("E11000"), "{text}");
        if status == 503 {
            assert!(has_retry_after, "{text}");
            return false;
        }
        assert_eq!(status, 202, "{text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["accepted"], self.fleet.batch_readings(), "{answer}");
        true
    }

    fn note(&self, batch: usize, begun: Instant) {
        {
            let mut pauses = self.pauses.lock().unwrap();
            pauses.longest_request = pauses.longest_request.max(begun.elapsed());
            pauses.longest_gap = pauses.longest_gap.max(pauses.last_answer.elapsed());
            pauses.last_answer = Instant::now();
        }
        self.acknowledged.send_modify(|all| {
            all.insert(batch);
        });
    }

    /// Waits until `part` of `parts` is acknowledged.
    pub(super) async fn reaches(&self, part: usize, parts: usize) {
        let count = self.fleet.batches() * part / parts;
        let mut acknowledged = self.acknowledged.subscribe();
        let reached = acknowledged.wait_for(|all| all.len() >= count);
        let reached = tokio::time::timeout(PATIENCE, reached).await;
        assert!(reached.is_ok(), "{count} batches were never acknowledged");
    }

    /// The senders give up what is not acknowledged.
    pub(super) fn give_up(&self) {
        self.next.store(self.fleet.batches(), Ordering::Relaxed);
        self.is_over.store(true, Ordering::Release);
    }

    /// Numbers of the batches that were answered 202.
    pub(super) fn acknowledged(&self) -> HashSet<usize> {
        self.acknowledged.borrow().clone()
    }

    /// The pauses so far.
    pub(super) fn pauses(&self) -> Pauses {
        *self.pauses.lock().unwrap()
    }
}
