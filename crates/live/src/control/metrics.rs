//! Metrics for Prometheus: the statistics of a node in the text exposition format, at `/metrics`.
//!
//! Names and units follow Prometheus's conventions: seconds, bytes, ratios, and `_total` for
//! counters.

mod page;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::commands::ControlHandle;

/// The routes of the metrics.
pub(crate) fn router(handle: Arc<ControlHandle>) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .fallback(not_found)
        .with_state(handle)
}

async fn metrics(State(handle): State<Arc<ControlHandle>>) -> Response {
    // A count waits for the packet thread.
    let counted = tokio::task::spawn_blocking(move || handle.count()).await;
    match counted {
        Ok(Ok(stats)) => {
            let page = page::page(&stats);
            ([(CONTENT_TYPE, page::CONTENT_TYPE)], page).into_response()
        }
        Ok(Err(unanswered)) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{unanswered}\n")).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn not_found() -> Response {
    let message = "404 Not Found: the metrics of this polypath node are at /metrics\n";
    (StatusCode::NOT_FOUND, message).into_response()
}

#[cfg(test)]
mod tests;
