//! Metrics for Prometheus: the statistics of a node at `/metrics`, in `OpenMetrics` for clients that
//! accept it and else in the text format 0.0.4.
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
use crate::stats::Stats;
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
    let counted = counts.count().await;
    let page = counted.map(|counted| counted.map(|stats| page(&stats, format)));
    match page {
        Some(Ok(Ok(page))) => ([(CONTENT_TYPE, format.content_type())], page).into_response(),
        Some(Err(unanswered)) => {
            let retry_after = [(RETRY_AFTER, "1")];
            let message = format!("{unanswered}\n");
            (StatusCode::SERVICE_UNAVAILABLE, retry_after, message).into_response()
        }
        Some(Ok(Err(_))) | None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn not_found() -> Response {
    let message = "404 Not Found: the metrics of this polypath node are at /metrics\n";
    (StatusCode::NOT_FOUND, message).into_response()
}

#[cfg(test)]
mod tests;
