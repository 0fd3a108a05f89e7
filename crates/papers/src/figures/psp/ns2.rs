//! Results of ns-2 2.35 for the same senders: validation/reference/spacing.csv.

use polypath_report::plot::{Look, Point, Series};
use serde::Deserialize;

const REFERENCE: &str = include_str!("../../../../../validation/reference/spacing.csv");
/// The queue limit of the rows with the paper's buffer.
const LIMIT: u32 = 10;

/// A setting and its results; rates in Mb/s for each sender, losses in percent.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Ns2Record {
    k: u32,
    #[serde(rename = "pkt_B")]
    packet: u32,
    qlimit: u32,
    #[serde(rename = "spacing_us")]
    pub(super) spacing: u32,
    mode: String,
    #[serde(rename = "recv_Mbps_mean")]
    pub(super) received: f64,
    #[serde(rename = "loss_pct_mean")]
    pub(super) loss: f64,
    #[serde(rename = "recv_flow_min")]
    pub(super) least: f64,
    #[serde(rename = "recv_flow_max")]
    pub(super) most: f64,
}

/// The rows of `senders` with packets of `packet` bytes that start in `mode`.
pub(super) fn rows(senders: u32, packet: u32, mode: &str) -> Vec<Ns2Record> {
    let mut reader = csv::Reader::from_reader(REFERENCE.as_bytes());
    let rows = reader.deserialize().filter_map(Result::<Ns2Record, _>::ok);
    let wanted = |row: &Ns2Record| (row.k, row.packet, row.qlimit) == (senders, packet, LIMIT);
    rows.filter(|row| wanted(row) && row.mode == mode).collect()
}

/// A value of these rows over the spacing, as dots.
pub(super) fn series(
    setting: (u32, u32, &str),
    name: &str,
    of: impl Fn(&Ns2Record) -> f64,
) -> Series {
    let (senders, packet, mode) = setting;
    let point = |row: &Ns2Record| Point {
        x: f64::from(row.spacing),
        y: of(row),
        ci95: None,
    };
    Series {
        name: name.to_owned(),
        points: rows(senders, packet, mode).iter().map(point).collect(),
        look: Look::Dots,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::psp::merge::{PACKET, Starts};

    /// Every row is parsed, and there are rows for all figures.
    #[test]
    fn the_reference_has_what_the_figures_show() {
        let mut reader = csv::Reader::from_reader(REFERENCE.as_bytes());
        assert!(reader.deserialize::<Ns2Record>().all(|row| row.is_ok()));
        assert!(rows(1, PACKET, "simul").len() > 10);
        for starts in Starts::ALL {
            assert!(rows(16, PACKET, starts.name()).len() > 10, "{starts:?}");
        }
        assert!(rows(3, PACKET, "simul").is_empty());
    }
}
