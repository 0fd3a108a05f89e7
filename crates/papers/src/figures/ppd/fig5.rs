//! Figs. 5 and 6: the playable size of a file of 1000 packets during its transfer, and the time
//! that playout must wait (pre-buffer).

use polypath_claims::{ClaimRemark, Findings, Measurement, Pending, Study};
use polypath_report::playout::TOLERANCE;
use polypath_report::plot::Stated;
use polypath_scenario::Scheme;

use super::harm::{LockStepRuns, harm_table};
use super::loads::loads_table;
use super::parameters;
use super::plan::{Size, calibrate, name, title};
use super::playout::{
    FILE, Runs, playable, played, pooled_overhead, signals, table, tolerances, waits,
};
use crate::figures::estimates::{estimate, shown};
use crate::jobs::ppd::setting::{Setting, Topology};
use crate::jobs::ppd::transfers::RATES;

/// The load of path 1 in both figures, and those of path 2 in each.
const LOADS: [f64; 2] = [0.94, 0.85];

/// The transfers of Fig. 5; plain TCP runs separately, since the others would wait for it.
fn balanced(study: &mut Study<'_>) -> Result<Runs, Pending> {
    let found = calibrate(study, &Setting::new(Topology::Apart), &LOADS)?;
    let traffic = Some([found[0].idle; 2]);
    let (replicas, count) = study.pick((6, 1), (40, 3));
    let size = |about| Size {
        replicas,
        count,
        about,
    };
    let tcp = played(study, "fig5", traffic, &Scheme::ALL[..1], size(300));
    let others = played(study, "fig5", traffic, &Scheme::ALL[1..], size(120));
    let (mut tcp, others) = (tcp?, others?);
    tcp.schemes.extend(others.schemes);
    Ok(tcp)
}

/// Fig. 5.
pub(super) fn fig5(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let found = balanced(study)?;
    let mut plot = playable("fig5", &found, [LOADS[0]; 2]);
    let stated = [Scheme::Tcp, Scheme::PpdTcp1].into_iter().enumerate();
    plot.stated = stated
        .filter_map(|(n, scheme)| {
            let x = study.stated("ppd.fig5.prebuffer", n)?;
            Some(Stated {
                of: title(scheme).to_owned(),
                x,
                y: 0.0,
            })
        })
        .collect();
    Ok(Findings {
        plots: vec![plot, waits("fig5-wait", &found, [LOADS[0]; 2])],
        tables: vec![
            table("fig5", &found),
            tolerances("fig5", &found),
            harm_table("fig5-harm", [LockStepRuns::of_runs("0.94, 0.94", &found)]),
            loads_table(study, "fig5-loads", &Setting::new(Topology::Apart), &LOADS)?,
        ],
        measurements: measurements(&found),
        reasons: reasons(&found),
        caveats: caveats(&found),
        notes: vec![
            "Each playable-size curve is that of one transfer, as in the paper; the table, the \
             pre-buffers and the waits are those of all transfers."
                .to_owned(),
        ],
        parameters: parameters::of(&Setting::new(Topology::Apart), FILE),
        ..Findings::default()
    })
}

fn measurements(found: &Runs) -> Vec<Measurement> {
    let seconds = |claim: &str, scheme: Scheme| {
        let quantity = format!("prebuffer.{}", name(scheme));
        Measurement::of(claim, &quantity, "s", "fig5", &found.prebuffers(scheme))
    };
    let share = |scheme: Scheme| {
        let (claim, quantity) = (
            "ppd.fig5.probes_near_bound",
            format!("overhead.{}", name(scheme)),
        );
        Measurement::of(claim, &quantity, "ratio", "fig5", &found.overheads(scheme))
    };
    let near = [Scheme::Tcp, Scheme::PpdTcp2, Scheme::PpdTcp3];
    let mut measurements = vec![
        seconds("ppd.fig5.prebuffer", Scheme::Tcp),
        seconds("ppd.fig5.prebuffer", Scheme::PpdTcp1),
    ];
    let rate = common_rate(found);
    measurements.extend(near.map(|scheme| {
        let quantity = format!("prebuffer.{}", name(scheme));
        let waits = found.each(scheme, |run| run.waits.get(rate).copied());
        Measurement::of("ppd.fig5.probes_near_bound", &quantity, "s", "fig5", &waits)
    }));
    measurements.extend([share(Scheme::PpdTcp2), share(Scheme::PpdTcp3)]);
    measurements
}

/// The one of [`RATES`] that is nearest to the playout rate of plain TCP.
fn common_rate(found: &Runs) -> usize {
    let plain = estimate(&found.rates(Scheme::Tcp)).map_or(0.0, |rate| 1e3 * rate.mean);
    let distance = |n: &usize| (RATES[*n] - plain).abs();
    let nearest = (0..RATES.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.unwrap_or(0)
}

/// The transfers of Fig. 6, by the schemes that use path 2, with the seeds of Fig. 5: path 1 has
/// the same background.
fn lighter(study: &mut Study<'_>) -> Result<Runs, Pending> {
    let found = calibrate(study, &Setting::new(Topology::Apart), &LOADS)?;
    let traffic = Some([found[0].idle, found[1].idle]);
    let (replicas, count) = study.pick((6, 1), (40, 3));
    let size = Size {
        replicas,
        count,
        about: 100,
    };
    played(study, "fig5", traffic, &Scheme::ALL[1..], size)
}

/// Fig. 6.
pub(super) fn fig6(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let even_loads = balanced(study);
    let found = lighter(study);
    let (mut found, even_loads) = (found?, even_loads?);
    let claim = "ppd.fig6.unbalanced_is_faster";
    let rate = |quantity: &str, of: &Runs| {
        Measurement::of(
            claim,
            quantity,
            "kB/s",
            "transfers",
            &of.rates(Scheme::PpdTcp1),
        )
    };
    let measurements = vec![
        rate("playout_rate.ppd1.fig6", &found),
        rate("playout_rate.ppd1.fig5", &even_loads),
    ];
    let harm = harm_table("fig6-harm", [LockStepRuns::of_runs("0.94, 0.85", &found)]);
    let reasons = vec![reason_of_fig6(&found, &even_loads)];
    // Plain TCP does not use path 2.
    let tcp = even_loads.schemes.into_iter().next();
    found.schemes.splice(0..0, tcp);
    Ok(Findings {
        plots: vec![
            playable("fig6", &found, LOADS),
            waits("fig6-wait", &found, LOADS),
        ],
        tables: vec![table("fig6", &found), harm],
        measurements,
        reasons,
        parameters: parameters::of(&Setting::new(Topology::Apart), FILE),
        ..Findings::default()
    })
}

/// The minimum and maximum pre-buffer of the middle half of the transfers.
fn quartiles(found: &Runs, scheme: Scheme) -> String {
    let both = found.quartiles(scheme);
    both.map_or("-".to_owned(), |[low, high]| {
        format!("{low:.1} and {high:.1} s")
    })
}

/// The caveats of the pre-buffers: the tolerance, and the rate at which they are compared.
fn caveats(found: &Runs) -> Vec<ClaimRemark> {
    let schemes = [Scheme::Tcp, Scheme::PpdTcp3, Scheme::PpdTcp2];
    let own = schemes.map(|scheme| {
        format!(
            "{} {} kB/s",
            title(scheme),
            shown(estimate(&found.rates(scheme)), 1)
        )
    });
    let waits = schemes.map(|scheme| {
        let waits = shown(estimate(&found.prebuffers(scheme)), 1);
        format!("{} {waits} s", title(scheme))
    });
    let near = format!(
        "The pre-buffers are compared at one playout rate, {} kB/s, the nearest to that of plain \
         TCP. The playout rates of the schemes themselves are {}, after {}; plot `fig5-wait` has \
         other rates.",
        RATES[common_rate(found)] / 1e3,
        own.join(", "),
        waits.join(", ")
    );
    let late = format!(
        "A line that touches the curve would be almost vertical because of the last packets: {} % \
         of the file may arrive after its playout time, which is chosen. The pre-buffer depends on \
         it: table `fig5-tolerances`.",
        100.0 * TOLERANCE
    );
    [
        ("ppd.fig5.probes_near_bound", near),
        ("ppd.fig5.prebuffer", late),
    ]
    .map(|(claim, text)| ClaimRemark { claim, text })
    .to_vec()
}

/// The reason for which the claim of Fig. 6 differs, from these runs.
fn reason_of_fig6(lighter: &Runs, even: &Runs) -> ClaimRemark {
    let each = Scheme::ALL[1..].iter().map(|scheme| {
        let [here, there] = [lighter, even].map(|runs| shown(estimate(&runs.rates(*scheme)), 1));
        format!("{} {here} kB/s instead of {there} kB/s", title(*scheme))
    });
    let text = format!(
        "The playout rates after the pre-buffer, with path 2 at {} instead of {}, are: {}.",
        LOADS[1],
        LOADS[0],
        each.collect::<Vec<_>>().join(", ")
    );
    let claim = "ppd.fig6.unbalanced_is_faster";
    ClaimRemark { claim, text }
}

/// The reasons for which claims of Fig. 5 differ, from these runs.
fn reasons(found: &Runs) -> Vec<ClaimRemark> {
    let probes = found.of(Scheme::PpdTcp3);
    let [pairs, requests] = [0, 1].map(|which| signals(probes, which));
    let all = pooled_overhead(probes);
    let near = format!(
        "The overhead of PPD-TCP3 is {all:.3} of the applications' bytes, with packets of 1000 B at \
         this load. Packet pairs are {pairs:.3} of it and switch requests {requests:.3}, which are \
         repeated until one is received; 3.3 counts neither, only ACKs and probes, which are {:.3}. \
         Half of the pre-buffers are between {} with plain TCP, {} with PPD-TCP3 and {} with \
         PPD-TCP2.",
        all - pairs - requests,
        quartiles(found, Scheme::Tcp),
        quartiles(found, Scheme::PpdTcp3),
        quartiles(found, Scheme::PpdTcp2),
    );
    let shown = |scheme| {
        let mean = shown(estimate(&found.prebuffers(scheme)), 1);
        format!(
            "{mean} s (half of the transfers between {})",
            quartiles(found, scheme)
        )
    };
    let prebuffer = format!(
        "The paper shows one transfer of each scheme. Over all transfers the pre-buffer is {} with \
         TCP and {} with PPD-TCP1: it varies from transfer to transfer.",
        shown(Scheme::Tcp),
        shown(Scheme::PpdTcp1)
    );
    [
        ("ppd.fig5.probes_near_bound", near),
        ("ppd.fig5.prebuffer", prebuffer),
    ]
    .map(|(claim, text)| ClaimRemark { claim, text })
    .to_vec()
}
