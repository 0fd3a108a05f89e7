//! The overhead of the schemes: bytes on the wire of a transfer over an idle network.

use polypath_claims::{FigureTable, Findings, Measurement, Pending, Study};
use polypath_scenario::Scheme;

use super::parameters;
use super::plan::{LoadPoint, Plan, Size, title};
use crate::jobs::ppd::setting::{Setting, Topology};

/// The claims of sections 3.1 to 3.3.
const CLAIMS: [(Scheme, &str); 3] = [
    (Scheme::PpdTcp1, "ppd.overhead.acks"),
    (Scheme::PpdTcp2, "ppd.overhead.duplicates"),
    (Scheme::PpdTcp3, "ppd.overhead.probes"),
];

/// A file size at which the set-up and the first pairs contribute little.
const LONG: u64 = 15_000_000;

/// The overhead of each scheme.
pub(super) fn overhead(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let once = row(study, "24 h");
    let often = row(study, "1 s");
    let (once, often) = (once?, often?);
    let measurement = |(scheme, claim): (Scheme, &str)| {
        let samples = once.each(scheme, |run| {
            Some(ratio(run.bytes[1], once.of(Scheme::Tcp)))
        });
        Measurement::of(
            claim,
            claim.rsplit('.').next().unwrap_or(claim),
            "ratio",
            "idle",
            &samples,
        )
    };
    let line = |scheme: Scheme| {
        let of = |row: &LoadPoint| -> [String; 2] {
            let bytes = row.of(scheme).iter().map(|run| run.bytes[1]).sum();
            [
                u64::to_string(&bytes),
                format!("{:.2}", 100.0 * ratio(bytes, row.of(Scheme::Tcp))),
            ]
        };
        let ([bytes, share], [_, often]) = (of(&once), of(&often));
        vec![title(scheme).to_owned(), bytes, share, often]
    };
    let columns = [
        "scheme",
        "bytes on the wire",
        "overhead %",
        "overhead with a pair each second %",
    ];
    Ok(Findings {
        tables: vec![FigureTable {
            id: "overhead".to_owned(),
            title: "A file of 15 MB in packets of 1500 B over idle paths".to_owned(),
            columns: columns.map(str::to_owned).to_vec(),
            rows: Scheme::ALL.map(line).to_vec(),
        }],
        measurements: CLAIMS.map(measurement).to_vec(),
        notes: vec![
            "Both directions count. Packet pairs are sent when the transfer begins, as in 3.3."
                .to_owned(),
        ],
        parameters: parameters::of(&setting("24 h"), LONG),
        ..Findings::default()
    })
}

/// The relative difference of `bytes` to those of plain TCP.
fn ratio(bytes: u64, plain: &[crate::jobs::ppd::transfers::SchemeResult]) -> f64 {
    let plain: u64 = plain.iter().map(|run| run.bytes[1]).sum();
    bytes as f64 / plain.max(1) as f64 - 1.0
}

fn row(study: &mut Study<'_>, pair_interval: &str) -> Result<LoadPoint, Pending> {
    let setting = setting(pair_interval);
    let plan = Plan {
        experiment: "overhead",
        setting: &setting,
        traffic: None,
        load: 0.0,
        bytes: LONG,
        size: Size {
            replicas: 1,
            count: 1,
            about: 150,
        },
    };
    plan.run(study, &Scheme::ALL)
}

/// Packets of the usual size in the Internet, and a pair at the start and after each interval.
fn setting(pair_interval: &str) -> Setting {
    Setting::new(Topology::Apart)
        .with("tcp.segment", "1500 B")
        .with("overlay.pair_len", "1500 B")
        .with("overlay.pair_interval", pair_interval)
}
