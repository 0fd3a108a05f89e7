//! The idle times of the background's TCP and UDP sources as one curve.
//!
//! The paper controls the load "by varying the idle time between successive TCP and UDP
//! transmissions" (5) and does not state how the two are related. Here they are related as in the
//! reference runs of ns-2 (reference/ns2/README.md): eight pairs, interpolated linearly in their
//! logarithms and extrapolated at both ends.

use serde::{Deserialize, Serialize};

/// The mean idle times of the reference runs in seconds, TCP and UDP, and the mean load that they
/// gave.
const REFERENCE: [(f64, f64, f64); 8] = [
    (1.5, 3.5, 0.586),
    (1.1, 3.0, 0.658),
    (0.8, 2.5, 0.755),
    (0.6, 2.0, 0.810),
    (0.4, 1.5, 0.869),
    (0.25, 1.1, 0.914),
    (0.17, 0.85, 0.941),
    (0.14, 0.78, 0.948),
];

/// The mean idle times of the sources of a path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Idle {
    /// Between two files over TCP, in seconds.
    pub(crate) tcp: f64,
    /// Between two bursts of datagrams of 1 s, in seconds.
    pub(crate) udp: f64,
}

impl Idle {
    /// The pair of the curve at a TCP idle time of `exp(log_tcp)` seconds.
    pub(crate) fn at(log_tcp: f64) -> Self {
        let points = REFERENCE.map(|(tcp, udp, _)| (tcp.ln(), udp.ln()));
        Self {
            tcp: log_tcp.exp(),
            udp: along(&points, log_tcp).exp(),
        }
    }
}

/// The logarithm of the TCP idle time in seconds at which the reference runs had about this load.
pub(crate) fn first_guess(load: f64) -> f64 {
    along(&REFERENCE.map(|(tcp, _, load)| (load, tcp.ln())), load)
}

/// The straight lines through points that are in order of x (rising or falling), the first and the
/// last one extended.
fn along(points: &[(f64, f64)], x: f64) -> f64 {
    let rising = points[0].0 < points[points.len() - 1].0;
    let is_past = |p: &(f64, f64)| if rising { p.0 < x } else { p.0 > x };
    let passed = points.iter().filter(|p| is_past(p)).count();
    let right = passed.clamp(1, points.len() - 1);
    let (a, b) = (points[right - 1], points[right]);
    a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_curve_passes_through_the_reference_runs() {
        for (tcp, udp, load) in REFERENCE {
            let idle = Idle::at(tcp.ln());
            assert!((idle.tcp / tcp - 1.0).abs() < 1e-12 && (idle.udp / udp - 1.0).abs() < 1e-12);
            assert!((first_guess(load) - tcp.ln()).abs() < 1e-12);
        }
    }

    proptest! {
        #[test]
        fn both_idle_times_rise_together_without_a_leap(at in -6.0..6.0_f64, step in 0.001..0.1_f64) {
            let (a, b) = (Idle::at(at), Idle::at(at + step));
            prop_assert!(a.tcp < b.tcp && a.udp < b.udp);
            prop_assert!((b.udp / a.udp).ln() < step, "datagrams pause less in proportion");
        }

        #[test]
        fn a_greater_load_wants_shorter_pauses(load in 0.01..1.0_f64) {
            prop_assert!(first_guess(load + 0.01) < first_guess(load));
        }
    }
}
