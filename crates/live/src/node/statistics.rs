//! The counters of a node, gathered from its machine, its I/O and its operator.

mod rates;

use polypath_core::frame::PathId;
use polypath_core::liveness::PathState;
use polypath_core::time::Time;
use polypath_session::tunnel::Tunnel;

use super::io::NodeIo;
use super::paths::Paths;
use super::quotas::Quotas;
use crate::stats::{
    self, ClassStats, DeliveryStats, GuardStats, MeasuredStats, PathStats, PolicyStats, RelayStats,
    Reloads, SpacingStats, Stats, UsageStats, Volume,
};
use rates::Rates;

/// The counters that need a history.
#[derive(Debug)]
pub(super) struct Statistics {
    started: Time,
    rates: Rates,
}

impl Statistics {
    /// The statistics of a node that starts at `started`.
    pub(super) fn new(started: Time) -> Self {
        Self {
            started,
            rates: Rates::default(),
        }
    }

    /// Samples the rates of the paths at `now`.
    pub(super) fn sample(&mut self, now: Time, paths: &Paths) {
        self.rates.sample(now, paths.traffic());
    }

    /// All counters at `now`.
    pub(super) fn count(
        &self,
        now: Time,
        tunnel: &Tunnel,
        io: &NodeIo,
        quotas: &Quotas,
        reloads: &Reloads,
    ) -> Stats {
        let age = tunnel
            .established_at()
            .map(|at| now.since(at).as_secs_f64());
        let paths = self.paths(now, tunnel, &io.paths, quotas);
        Stats {
            version: stats::VERSION,
            at: now,
            uptime_s: now.since(self.started).as_secs_f64(),
            software: env!("CARGO_PKG_VERSION").to_owned(),
            tun_name: io.application.name().to_owned(),
            established: tunnel.is_established(),
            tun: io.application.stats(),
            policy: policy(now, tunnel, &paths),
            repair: tunnel.endpoint().repair_statistics(),
            order: tunnel.endpoint().order_statistics(),
            arrivals: tunnel.endpoint().arrival_statistics().into(),
            spacing: tunnel
                .endpoint()
                .spacing_statistics(now)
                .map(SpacingStats::from),
            congestion: tunnel.endpoint().detector_statistics(),
            fragments: tunnel.endpoint().fragment_statistics(),
            classes: classes(tunnel),
            paths,
            peer_paths: tunnel.session().peer_paths(),
            features: tunnel.session().feature_names().collect(),
            dropped: io.dropped.clone(),
            session: stats::session(tunnel.counters(), age),
            reloads: reloads.clone(),
            ..Stats::default()
        }
    }

    fn paths(&self, now: Time, tunnel: &Tunnel, paths: &Paths, quotas: &Quotas) -> Vec<PathStats> {
        let all = paths.stats(now, |path| tunnel.health(path));
        let complete = |(id, path): (PathId, PathStats)| {
            let size = tunnel.path_mtu(id);
            PathStats {
                rate: self.rates.of(id.index()),
                relay: tunnel.relay(id).map(RelayStats::from),
                delivery: tunnel.endpoint().path_estimate(id).map(DeliveryStats::from),
                measured: tunnel.endpoint().measured_rtt(id).map(MeasuredStats::from),
                flows: tunnel.endpoint().flows_on(id).map(|flows| flows as u64),
                cost: tunnel.endpoint().cost(id),
                usage: usage(tunnel, id, quotas),
                mtu_bytes: size.and_then(|size| paths.wire_mtu(id, size)),
                mtu_state: size.map(|size| size.state),
                ..path
            }
        };
        (0..).map(PathId).zip(all).map(complete).collect()
    }
}

fn usage(tunnel: &Tunnel, path: PathId, quotas: &Quotas) -> Option<UsageStats> {
    let mut usage = tunnel.endpoint().path_usage(path)?;
    let shift = quotas.shift(path);
    usage.used.0 = usage.used.0.saturating_sub(shift.unwrap_or(0));
    let (renews, renews_on) = quotas.renewal(path);
    Some(UsageStats {
        renews,
        renews_on,
        unsaved: shift.is_some(),
        ..usage.into()
    })
}

fn classes(tunnel: &Tunnel) -> Vec<ClassStats> {
    let classes = tunnel.endpoint().class_statistics();
    let stats = classes.map(|(class, counters)| ClassStats {
        name: class.name.clone(),
        treatment: class.treatment,
        deadline_ms: class.deadline.map(|deadline| deadline.as_secs_f64() * 1e3),
        from_applications: Volume {
            packets: counters.packets,
            bytes: counters.bytes,
        },
    });
    stats.collect()
}

fn policy(now: Time, tunnel: &Tunnel, paths: &[PathStats]) -> PolicyStats {
    let endpoint = tunnel.endpoint();
    let name = |path: PathId| paths.get(path.index()).map(|path| path.name.clone());
    let guard = endpoint.guard_time().map(|guard| GuardStats {
        to: guard.to.and_then(name),
        remaining_ms: guard.end.since(now).0 / 1_000_000,
    });
    PolicyStats {
        kind: endpoint.policy().name().to_owned(),
        parameters: stats::parameters(endpoint.policy()),
        active: endpoint.active().and_then(name),
        switches: endpoint.switches(),
        guard,
    }
}

/// The state of a node in one line, for the service manager.
pub(super) fn status_line(stats: &Stats) -> String {
    let session = if stats.established {
        "session established"
    } else {
        "no session"
    };
    let path_states = || {
        stats
            .paths
            .iter()
            .map(|path| path.liveness.map(|l| l.state))
    };
    let paths = stats.paths.len();
    if path_states().all(|state| state.is_none()) {
        return format!("{session}, {paths} paths");
    }
    let live = path_states().filter(|state| *state == Some(PathState::Live));
    format!("{session}, {} of {paths} paths live", live.count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::LivenessStats;

    #[test]
    fn the_status_line_has_the_session_and_the_live_paths() {
        let path = |state: Option<PathState>| PathStats {
            liveness: state.map(|state| LivenessStats {
                state,
                ..LivenessStats::default()
            }),
            ..PathStats::default()
        };
        let line = |established, paths: Vec<PathStats>| {
            status_line(&Stats {
                established,
                paths,
                ..Stats::default()
            })
        };
        let paths = [Some(PathState::Live), Some(PathState::Silent)].map(path);
        assert_eq!(
            line(true, paths.into()),
            "session established, 1 of 2 paths live"
        );
        assert_eq!(line(false, vec![path(None)]), "no session, 1 paths");
    }
}
