//! The columns of a sweep's CSV files, each with the key path of its value in a row of
//! `report.json`.

/// The keys to follow, the outermost first.
pub(super) type KeyPath = &'static [&'static str];
/// A column's name and the source of its values.
pub(super) type Column = (&'static str, KeyPath);

/// Columns of a group of flows; counts are per run.
pub(super) const OF_GROUPS: [Column; 38] = [
    ("group", &["name"]),
    ("flows", &["flows"]),
    ("goodput_bits_s", &["goodput_bits_s", "mean"]),
    ("goodput_ci95_bits_s", &["goodput_bits_s", "ci95"]),
    ("jain_index", &["jain_index", "mean"]),
    ("jain_index_ci95", &["jain_index", "ci95"]),
    ("delay_s", &["delay_s", "mean"]),
    ("delay_ci95_s", &["delay_s", "ci95"]),
    ("window_segments", &["window_segments", "mean"]),
    ("window_ci95_segments", &["window_segments", "ci95"]),
    ("goodput_bytes", &["per_run", "goodput_bytes", "mean"]),
    ("goodput_ci95_bytes", &["per_run", "goodput_bytes", "ci95"]),
    ("sent_packets", &["per_run", "sent_packets", "mean"]),
    ("sent_ci95_packets", &["per_run", "sent_packets", "ci95"]),
    (
        "retransmitted_packets",
        &["per_run", "retransmitted_packets", "mean"],
    ),
    (
        "retransmitted_ci95_packets",
        &["per_run", "retransmitted_packets", "ci95"],
    ),
    ("timeouts", &["per_run", "timeouts", "mean"]),
    ("timeouts_ci95", &["per_run", "timeouts", "ci95"]),
    ("arrived_packets", &["per_run", "arrived_packets", "mean"]),
    (
        "arrived_ci95_packets",
        &["per_run", "arrived_packets", "ci95"],
    ),
    ("receiver_rtt_s", &["receiver_rtt_s", "mean"]),
    ("receiver_rtt_ci95_s", &["receiver_rtt_s", "ci95"]),
    ("delay_p50_s", &["delay_percentiles_s", "p50", "mean"]),
    ("delay_p50_ci95_s", &["delay_percentiles_s", "p50", "ci95"]),
    ("delay_p95_s", &["delay_percentiles_s", "p95", "mean"]),
    ("delay_p95_ci95_s", &["delay_percentiles_s", "p95", "ci95"]),
    ("delay_p99_s", &["delay_percentiles_s", "p99", "mean"]),
    ("delay_p99_ci95_s", &["delay_percentiles_s", "p99", "ci95"]),
    ("finished_files", &["files", "finished_per_run", "mean"]),
    (
        "finished_ci95_files",
        &["files", "finished_per_run", "ci95"],
    ),
    ("files_under_way", &["files", "under_way_per_run", "mean"]),
    (
        "files_under_way_ci95",
        &["files", "under_way_per_run", "ci95"],
    ),
    ("completion_s", &["files", "completion_s", "mean"]),
    ("completion_ci95_s", &["files", "completion_s", "ci95"]),
    (
        "completion_median_s",
        &["files", "completion_median_s", "mean"],
    ),
    (
        "completion_median_ci95_s",
        &["files", "completion_median_s", "ci95"],
    ),
    ("completion_p95_s", &["files", "completion_p95_s", "mean"]),
    (
        "completion_p95_ci95_s",
        &["files", "completion_p95_s", "ci95"],
    ),
];

/// Columns of a link; likewise. The last are drops by reason.
pub(super) const OF_LINKS: [Column; 30] = [
    ("link", &["name"]),
    ("rate_bits_s", &["rate_bits_s"]),
    ("load", &["load", "mean"]),
    ("load_ci95", &["load", "ci95"]),
    ("loss", &["loss", "mean"]),
    ("loss_ci95", &["loss", "ci95"]),
    ("waiting_packets", &["mean_waiting_packets", "mean"]),
    ("waiting_ci95_packets", &["mean_waiting_packets", "ci95"]),
    ("packets_in", &["per_run", "packets_in", "mean"]),
    ("packets_in_ci95", &["per_run", "packets_in", "ci95"]),
    ("packets_dropped", &["per_run", "packets_dropped", "mean"]),
    (
        "packets_dropped_ci95",
        &["per_run", "packets_dropped", "ci95"],
    ),
    ("packets_marked", &["per_run", "packets_marked", "mean"]),
    (
        "packets_marked_ci95",
        &["per_run", "packets_marked", "ci95"],
    ),
    ("queue_full", &["per_run", "drops", "queue_full", "mean"]),
    (
        "queue_full_ci95",
        &["per_run", "drops", "queue_full", "ci95"],
    ),
    ("overflow", &["per_run", "drops", "overflow", "mean"]),
    ("overflow_ci95", &["per_run", "drops", "overflow", "ci95"]),
    ("early", &["per_run", "drops", "early", "mean"]),
    ("early_ci95", &["per_run", "drops", "early", "ci95"]),
    ("sojourn", &["per_run", "drops", "sojourn", "mean"]),
    ("sojourn_ci95", &["per_run", "drops", "sojourn", "ci95"]),
    ("random", &["per_run", "drops", "random", "mean"]),
    ("random_ci95", &["per_run", "drops", "random", "ci95"]),
    ("burst", &["per_run", "drops", "burst", "mean"]),
    ("burst_ci95", &["per_run", "drops", "burst", "ci95"]),
    ("down", &["per_run", "drops", "down", "mean"]),
    ("down_ci95", &["per_run", "drops", "down", "ci95"]),
    ("outage", &["per_run", "drops", "outage", "mean"]),
    ("outage_ci95", &["per_run", "drops", "outage", "ci95"]),
];

/// Columns of a scheme; counts are totals of all its transfers.
pub(super) const OF_SCHEMES: [Column; 22] = [
    ("scheme", &["name"]),
    ("transfers", &["transfer_s", "n"]),
    ("timed_out", &["timed_out"]),
    ("transfer_s", &["transfer_s", "mean"]),
    ("transfer_ci95_s", &["transfer_s", "ci95"]),
    ("transfer_p50_s", &["transfer_quantiles_s", "p50"]),
    ("transfer_p95_s", &["transfer_quantiles_s", "p95"]),
    ("minus_tcp_s", &["difference_to_tcp_s", "mean"]),
    ("minus_tcp_ci95_s", &["difference_to_tcp_s", "ci95"]),
    ("minus_tcp_bound", &["difference_to_tcp_bound"]),
    ("prebuffer_s", &["prebuffer_s"]),
    ("prebuffer_ci95_s", &["prebuffer_ci95_s"]),
    ("prebuffer_n", &["prebuffer_n"]),
    ("overhead_bytes", &["overhead_bytes"]),
    ("overhead_ratio", &["overhead_ratio"]),
    ("duplicates_discarded", &["duplicates_discarded"]),
    ("path_switches", &["path_switches"]),
    ("harm", &["harm", "mean"]),
    ("harm_ci95", &["harm", "ci95"]),
    ("intact", &["intact"]),
    (
        "minus_tcp_includes_zero",
        &["difference_to_tcp_includes_zero"],
    ),
    ("harm_includes_one", &["harm_includes_one"]),
];
