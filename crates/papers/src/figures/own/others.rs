//! Media in the files without bounds of their own, compared with `duplicate-all`.

use polypath_claims::{Figure, Findings, Pending, Study};

use super::runs::{self, late, plots, table, wire};
use crate::jobs::own::files::MediaFile;
use crate::jobs::own::streams::Carrier;

pub(super) const FIGURE: Figure = Figure {
    id: "own.others",
    title: "Media in time beside duplicate-all: a long buffer, common fades, three paths, long paths",
    claims: &[LATE, QUARTER],
    make,
};

const LATE: &str = "own.others.late";
const QUARTER: &str = "own.others.quarter";

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let carriers = [Carrier::DuplicateAll, Carrier::Relaxed];
    let all = runs::request(study, &MediaFile::OTHERS, &carriers)?;
    let measured = all.iter().flat_map(|streams| {
        [
            streams.measure(LATE, "late", "%", late),
            streams.measure(QUARTER, "wire", "ratio", wire),
        ]
    });
    Ok(Findings {
        measurements: measured.collect(),
        plots: plots("others", &all, &MediaFile::OTHERS),
        tables: vec![table("streams", &all)],
        ..Findings::default()
    })
}
