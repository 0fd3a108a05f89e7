//! The report as CSV files, for spreadsheets and plotting programs.

use std::io;

use polypath_core::frame::PathId;
use serde::Serialize;

use crate::figures::Figures;
use crate::record::{DirectionRecord, ExperimentRecord};

/// `transfers.csv`: each transfer; an empty duration is a timeout.
pub fn transfers(experiment: &ExperimentRecord) -> io::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct TransferRow<'a> {
        scheme: &'a str,
        round: u32,
        started_s: String,
        duration_s: Option<String>,
        size_bytes: u64,
        intact: bool,
    }
    let rows = experiment.schemes.iter().flat_map(|scheme| {
        scheme.transfers.iter().map(|transfer| TransferRow {
            scheme: &scheme.name,
            round: transfer.round,
            started_s: seconds(transfer.started.as_secs_f64()),
            duration_s: transfer
                .duration
                .map(|duration| seconds(duration.as_secs_f64())),
            size_bytes: transfer.size.0,
            intact: transfer.intact,
        })
    });
    write(rows)
}

/// `paths.csv`: bytes that arrived in each second of the run, by scheme, path and direction, and
/// which path was active for the server's data at the end of that second.
pub fn paths(experiment: &ExperimentRecord) -> io::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct PathRow<'a> {
        scheme: &'a str,
        path: &'a str,
        direction: &'static str,
        second: usize,
        bytes: u64,
        active: bool,
    }
    let mut rows = Vec::new();
    for scheme in &experiment.schemes {
        let overlay = &scheme.overlay;
        for (number, path) in overlay.paths.iter().enumerate() {
            let directions: [(&str, &DirectionRecord); 2] =
                [("to client", &path.forward), ("to server", &path.backward)];
            for (name, direction) in directions {
                rows.extend(
                    direction
                        .arrivals
                        .iter()
                        .enumerate()
                        .map(|(second, bytes)| {
                            let end = (second + 1) as f64;
                            let passed = overlay
                                .server_switches()
                                .filter(|s| s.at.as_secs_f64() < end);
                            let active = passed.last().map_or(PathId(0), |switch| switch.to);
                            PathRow {
                                scheme: &scheme.name,
                                path: &path.name,
                                direction: name,
                                second,
                                bytes: bytes.0,
                                active: active.index() == number,
                            }
                        }),
                );
            }
        }
    }
    write(rows)
}

/// `playable.csv`: the playable size of each transfer as it grew (PPD paper, Fig. 5).
pub fn playable(experiment: &ExperimentRecord) -> io::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct PlayableRow<'a> {
        scheme: &'a str,
        round: u32,
        time_s: String,
        bytes: u64,
    }
    let rows = experiment.schemes.iter().flat_map(|scheme| {
        scheme.transfers.iter().flat_map(|transfer| {
            transfer.progress.iter().map(|point| PlayableRow {
                scheme: &scheme.name,
                round: transfer.round,
                time_s: seconds(point.at.as_secs_f64()),
                bytes: point.bytes.0,
            })
        })
    });
    write(rows)
}

/// `prebuffer.csv`: the mean pre-buffer as a function of the playout rate ([`crate::playout`]).
pub fn prebuffer(experiment: &ExperimentRecord, figures: &Figures) -> io::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct PrebufferRow<'a> {
        scheme: &'a str,
        rate_bit_s: String,
        prebuffer_s: Option<String>,
    }
    let schemes = experiment.schemes.iter().zip(&figures.schemes);
    let rows = schemes.flat_map(|(record, scheme)| {
        figures.rates.iter().map(|rate| PrebufferRow {
            scheme: &record.name,
            rate_bit_s: format!("{:.0}", rate * 8.0),
            prebuffer_s: scheme.prebuffer_at(*rate).map(seconds),
        })
    });
    write(rows)
}

pub(crate) fn write(rows: impl IntoIterator<Item = impl Serialize>) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error)
}

pub(crate) fn seconds(value: f64) -> String {
    format!("{value:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::experiment;

    fn lines(bytes: Vec<u8>) -> Vec<String> {
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_sheet_has_a_header_and_a_row_for_each_observation() {
        let experiment = experiment();
        let transfers = lines(transfers(&experiment).unwrap());
        assert_eq!(
            transfers[0],
            "scheme,round,started_s,duration_s,size_bytes,intact"
        );
        assert_eq!(transfers[1], "tcp,0,20.000000,4.000000,100000,true");
        assert_eq!(transfers[3], "tcp,2,40.000000,,100000,false");
        assert_eq!(transfers.len(), 1 + 6);
        assert_eq!(lines(playable(&experiment).unwrap()).len(), 1 + 5 * 10 + 6);
        let figures = Figures::of(&experiment);
        assert_eq!(
            lines(prebuffer(&experiment, &figures).unwrap()).len(),
            1 + 2 * 40
        );
    }

    #[test]
    fn the_active_path_follows_the_switches() {
        let paths = lines(paths(&experiment()).unwrap());
        assert_eq!(paths.len(), 1 + 2 * 2 * 2 * 50);
        assert!(paths.contains(&"ppd-tcp3,path1,to client,30,10000,true".to_owned()));
        assert!(paths.contains(&"ppd-tcp3,path1,to client,31,10000,false".to_owned()));
        assert!(paths.contains(&"ppd-tcp3,path2,to client,31,9866,true".to_owned()));
    }
}
