//! Metrics for Prometheus: the statistics of a node at `/metrics`, in `OpenMetrics` for clients that
//! accept it and else in the text format 0.0.4.
//!
//! Names and units follow Prometheus's conventions: seconds, bytes, ratios, and `_total` for
//! counters.

mod page;

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};

use super::commands::ControlHandle;
use super::http::ConnectionPermit;
use page::{Format, page};

/// The routes of the metrics.
pub(crate) fn router(handle: Arc<ControlHandle>) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .fallback(not_found)
        .with_state(handle)
}

async fn metrics(
    State(handle): State<Arc<ControlHandle>>,
    Extension(permit): Extension<ConnectionPermit>,
    headers: HeaderMap,
) -> Response {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let format = Format::accepted_by(accept.unwrap_or_default());
    // A count waits for the packet thread.
    let count = move || {
        let _permit = permit;
        handle.count()
    };
    let counted = tokio::task::spawn_blocking(count).await;
    let page = counted.map(|counted| counted.map(|stats| page(&stats, format)));
    match page {
        Ok(Ok(Ok(page))) => ([(CONTENT_TYPE, format.content_type())], page).into_response(),
        Ok(Err(unanswered)) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{unanswered}\n")).into_response()
        }
        Ok(Ok(Err(_))) | Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn not_found() -> Response {
    let message = "404 Not Found: the metrics of this polypath node are at /metrics\n";
    (StatusCode::NOT_FOUND, message).into_response()
}

#[cfg(test)]
mod tests;
