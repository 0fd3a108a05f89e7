//! Metrics for Prometheus: the statistics of a node at `/metrics`, in `OpenMetrics` for clients that
//! accept it and else in the text format 0.0.4. At `/rate`, for encoders, the rate that the spacing of
//! packets permits, as JSON ([`rate_advice`]).
//!
//! Names and units follow Prometheus's conventions: seconds, bytes, ratios, and `_total` for
//! counters.

mod page;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::Semaphore;

use super::commands::{ControlHandle, Unanswered};
use super::http::BLOCKING_THREADS;
use crate::stats::{Stats, rate_advice};
use page::{Format, page};

/// Counts for requests, a bounded number at a time, also of those whose clients have disconnected.
#[derive(Clone)]
struct BoundedCounts {
    handle: Arc<ControlHandle>,
    permits: Arc<Semaphore>,
}

/// The routes of the metrics.
pub(crate) fn router(handle: Arc<ControlHandle>) -> Router {
    let permits = Arc::new(Semaphore::new(BLOCKING_THREADS));
    Router::new()
        .route("/metrics", get(metrics))
        .route("/rate", get(rate))
        .fallback(not_found)
        .with_state(BoundedCounts { handle, permits })
}

impl BoundedCounts {
    /// The node's counters; a count waits for the packet thread.
    async fn count(self) -> Option<Result<Arc<Stats>, Unanswered>> {
        let permit = self.permits.acquire_owned().await.ok()?;
        let count = move || {
            let _permit = permit;
            self.handle.count()
        };
        tokio::task::spawn_blocking(count).await.ok()
    }
}

async fn metrics(State(counts): State<BoundedCounts>, headers: HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let format = Format::accepted_by(accept.unwrap_or_default());
    let page = |stats: &Arc<Stats>| match page(stats, format) {
        Ok(page) => ([(CONTENT_TYPE, format.content_type())], page).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    answer(counts.count().await, page)
}

async fn rate(State(counts): State<BoundedCounts>) -> Response {
    answer(counts.count().await, |stats| {
        let state = serde_json::to_value(&**stats).unwrap_or_default();
        let Some(advice) = rate_advice(&state) else {
            let message = "404 Not Found: this polypath node does not space its packets; add [spacing] to its file\n";
            return (StatusCode::NOT_FOUND, message).into_response();
        };
        let json = [(CONTENT_TYPE, "application/json")];
        (json, format!("{advice}\n")).into_response()
    })
}

/// The answer that `write` makes of the counters.
fn answer(
    counted: Option<Result<Arc<Stats>, Unanswered>>,
    write: impl FnOnce(&Arc<Stats>) -> Response,
) -> Response {
    match counted {
        Some(Ok(stats)) => write(&stats),
        Some(Err(unanswered)) => {
            let retry_after = [(RETRY_AFTER, "1")];
            let message = format!("{unanswered}\n");
            (StatusCode::SERVICE_UNAVAILABLE, retry_after, message).into_response()
        }
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn not_found() -> Response {
    let message = "404 Not Found: the metrics of this polypath node are at /metrics, the rate for encoders at /rate\n";
    (StatusCode::NOT_FOUND, message).into_response()
}

#[cfg(test)]
mod tests;
