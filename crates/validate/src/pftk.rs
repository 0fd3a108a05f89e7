//! The throughput of TCP Reno by Padhye, Firoiu, Towsley and Kurose.

/// The full model's rate in segments per second (Padhye et al., Modeling TCP Throughput: A Simple
/// Model and its Empirical Validation, SIGCOMM 1998, section 2.2): losses with probability `p`,
/// `rtt` and the first timeout `t0` in seconds, `b` segments for each ACK, no limit by the
/// receiver's window.
#[must_use]
pub fn pftk(p: f64, rtt: f64, t0: f64, b: f64) -> f64 {
    let share = (2.0 + b) / (3.0 * b);
    let window = share + (8.0 * (1.0 - p) / (3.0 * b * p) + share * share).sqrt();
    // The probability that a loss at this window ends in a timeout, and the mean number of
    // consecutive timeouts.
    let q = 1.0 - p;
    let timeout = ((1.0 - q.powi(3)) * (1.0 + q.powi(3) * (1.0 - q.powf(window - 3.0)))
        / (1.0 - q.powf(window)))
    .min(1.0);
    let backoff = 1.0
        + p
        + 2.0 * p.powi(2)
        + 4.0 * p.powi(3)
        + 8.0 * p.powi(4)
        + 16.0 * p.powi(5)
        + 32.0 * p.powi(6);
    let segments = q / p + window + timeout / q;
    let seconds = rtt * (b / 2.0 * window + 1.0) + timeout * t0 * backoff / q;
    segments / seconds
}

#[cfg(test)]
mod tests {
    use super::pftk;

    /// Compared with the column `pftk_full_Mbps` of the ns-2 reference, which was computed
    /// independently.
    #[test]
    fn it_is_the_model_of_the_reference() {
        for (p, b, mbits) in [
            (0.001, 1.0, 7.6001),
            (0.003, 2.0, 3.0110),
            (0.03, 1.0, 1.0483),
            (0.1, 2.0, 0.2725),
        ] {
            let ours = pftk(p, 0.040_083, 0.2, b) * 8000.0 / 1e6;
            assert!((ours - mbits).abs() < 1e-4, "{p}, {b}: {ours}");
        }
    }
}
