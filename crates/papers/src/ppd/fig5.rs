//! Figs. 5 and 6: the playable size of a file of 1000 packets while it comes, and how long playout must wait.

use polypath_report::plot::{Look, Plot, Point, Series, Stated};
use polypath_scenario::Scheme;

use super::curves::axis;
use super::plan::{Size, calibrate, estimate, even, mean, name, seeds, shown, title};
use super::setting::{Setting, Topology, Traffic};
use super::transfers::{Playback, Played, RATES, Transfers};
use crate::{Findings, Measurement, Pending, Reason, Sample, Sheet, Study};

/// "The total file size corresponds to 1000 TCP data packets each of size 1000 Byte" (5.1).
const FILE: u64 = 1_000_000;

/// The load of path 1 in both figures, and those of path 2 in each.
const LOADS: [f64; 2] = [0.94, 0.85];

/// What came of the schemes, each in every replica.
struct Runs {
    schemes: Vec<(Scheme, Vec<Played>)>,
}

impl Runs {
    fn of(&self, scheme: Scheme) -> &[Played] {
        let found = self.schemes.iter().find(|(known, _)| *known == scheme);
        found.map_or(&[], |(_, runs)| runs)
    }

    /// A quantity of each replica that has it.
    fn each(&self, scheme: Scheme, of: impl Fn(&Played) -> Option<f64>) -> Vec<Sample> {
        let runs = self.of(scheme);
        let seeds = seeds(u32::try_from(runs.len()).unwrap_or(u32::MAX));
        let pairs = seeds.into_iter().zip(runs);
        pairs
            .filter_map(|(seed, run)| {
                Some(Sample {
                    seed,
                    value: of(run)?,
                })
            })
            .collect()
    }

    fn prebuffers(&self, scheme: Scheme) -> Vec<Sample> {
        self.each(scheme, |run| {
            let lines: Vec<f64> = run.carried.playout.iter().map(|line| line.0).collect();
            Some(mean(&lines))
        })
    }

    /// The rate of playout after the pre-buffer, in kB/s.
    fn rates(&self, scheme: Scheme) -> Vec<Sample> {
        self.each(scheme, |run| {
            let rates: Vec<f64> = run
                .carried
                .playout
                .iter()
                .filter_map(|line| line.1)
                .collect();
            (!rates.is_empty()).then(|| mean(&rates) / 1e3)
        })
    }

    fn overheads(&self, scheme: Scheme) -> Vec<Sample> {
        self.each(scheme, |run| {
            let [handed, sent] = run.carried.bytes;
            Some(sent as f64 / handed.max(1) as f64 - 1.0)
        })
    }
}

fn played(
    study: &mut Study<'_>,
    traffic: Traffic,
    schemes: &[Scheme],
    size: Size,
) -> Result<Runs, Pending> {
    let jobs = seeds(size.replicas).into_iter().map(|seed| {
        Playback(Transfers {
            setting: Setting::new(Topology::Apart),
            traffic,
            schemes: schemes.to_vec(),
            bytes: FILE,
            count: size.count,
            seed,
            about: size.about,
        })
    });
    let runs = study.ask_all(jobs)?;
    let of = |n: usize| runs.iter().filter_map(|run| run.get(n).cloned()).collect();
    let schemes = schemes
        .iter()
        .enumerate()
        .map(|(n, scheme)| (*scheme, of(n)));
    Ok(Runs {
        schemes: schemes.collect(),
    })
}

/// The transfers of Fig. 5; plain TCP goes by itself, since the others would wait for it.
fn balanced(study: &mut Study<'_>) -> Result<Runs, Pending> {
    let found = calibrate(study, &Setting::new(Topology::Apart), &LOADS)?;
    let traffic = Some([even(&found[0]); 2]);
    let (replicas, count) = study.pick((10, 1), (40, 3));
    let size = |about| Size {
        replicas,
        count,
        about,
    };
    let tcp = played(study, traffic, &Scheme::ALL[..1], size(300));
    let others = played(study, traffic, &Scheme::ALL[1..], size(120));
    let (mut tcp, others) = (tcp?, others?);
    tcp.schemes.extend(others.schemes);
    Ok(tcp)
}

/// Fig. 5.
pub(super) fn fig5(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let found = balanced(study)?;
    let mut plot = playable("fig5", &found, LOADS[0]);
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
    let seconds = |claim: &str, scheme: Scheme| {
        let quantity = format!("prebuffer.{}", name(scheme));
        Measurement::of(
            claim,
            &quantity,
            "s",
            name(scheme),
            &found.prebuffers(scheme),
        )
    };
    let share = |scheme: Scheme| {
        let (claim, quantity) = (
            "ppd.fig5.probes_near_bound",
            format!("overhead.{}", name(scheme)),
        );
        Measurement::of(
            claim,
            &quantity,
            "ratio",
            name(scheme),
            &found.overheads(scheme),
        )
    };
    let near = [Scheme::Tcp, Scheme::PpdTcp2, Scheme::PpdTcp3];
    let mut measurements = vec![
        seconds("ppd.fig5.prebuffer", Scheme::Tcp),
        seconds("ppd.fig5.prebuffer", Scheme::PpdTcp1),
    ];
    measurements.extend(near.map(|scheme| seconds("ppd.fig5.probes_near_bound", scheme)));
    measurements.extend([share(Scheme::PpdTcp2), share(Scheme::PpdTcp3)]);
    Ok(Findings {
        plots: vec![plot, waits("fig5-wait", &found, LOADS[0])],
        sheets: vec![sheet("fig5", &found)],
        measurements,
        reasons: reasons(&found),
        notes: vec![
            "The playable-size curves are those of one transfer each, as in the paper; the table, the pre-buffers and the waits \
             are of all."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

/// Fig. 6.
pub(super) fn fig6(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let even_loads = balanced(study);
    let found = calibrate(study, &Setting::new(Topology::Apart), &LOADS)?;
    let traffic = Some([even(&found[0]), even(&found[1])]);
    let (replicas, count) = study.pick((10, 1), (40, 3));
    let size = Size {
        replicas,
        count,
        about: 100,
    };
    let found = played(study, traffic, &Scheme::ALL[1..], size);
    let (mut found, even_loads) = (found?, even_loads?);
    let claim = "ppd.fig6.unbalanced_is_faster";
    let rate = |quantity: &str, of: &Runs| {
        Measurement::of(
            claim,
            quantity,
            "kB/s",
            quantity,
            &of.rates(Scheme::PpdTcp1),
        )
    };
    let measurements = vec![
        rate("playout_rate.ppd1.fig6", &found),
        rate("playout_rate.ppd1.fig5", &even_loads),
    ];
    // Plain TCP sees nothing of path 2.
    let tcp = even_loads.schemes.into_iter().next();
    found.schemes.splice(0..0, tcp);
    Ok(Findings {
        plots: vec![
            playable("fig6", &found, LOADS[1]),
            waits("fig6-wait", &found, LOADS[1]),
        ],
        sheets: vec![sheet("fig6", &found)],
        measurements,
        ..Findings::default()
    })
}

/// The first transfer of the first replica, as the paper shows one.
fn playable(id: &str, found: &Runs, load: f64) -> Plot {
    let curve = |(scheme, runs): &(Scheme, Vec<Played>)| Series {
        name: title(*scheme).to_owned(),
        points: runs.first().map_or_else(Vec::new, |run| {
            let steps = run.carried.first.iter();
            steps
                .map(|(x, bytes)| Point {
                    x: *x,
                    y: bytes / 1e3,
                    ci95: None,
                })
                .collect()
        }),
        look: Look::Trace,
    };
    Plot {
        id: id.to_owned(),
        title: format!("Playable size of a transfer, loads {} and {load}", LOADS[0]),
        x: axis("time", "s"),
        y: axis("playable media file size", "packets of 1000 B"),
        series: found.schemes.iter().map(curve).collect(),
        stated: Vec::new(),
    }
}

/// The wait over the rate of playout, d(r).
fn waits(id: &str, found: &Runs, load: f64) -> Plot {
    let curve = |(scheme, _): &(Scheme, Vec<Played>)| Series {
        name: title(*scheme).to_owned(),
        points: RATES
            .iter()
            .enumerate()
            .filter_map(|(n, rate)| {
                let samples = found.each(*scheme, |run| run.waits.get(n).copied());
                let estimate = estimate(&samples)?;
                Some(Point {
                    x: rate / 1e3,
                    y: estimate.mean,
                    ci95: estimate.ci95,
                })
            })
            .collect(),
        look: Look::Line,
    };
    Plot {
        id: id.to_owned(),
        title: format!(
            "Wait before playout that never stops, loads {} and {load}",
            LOADS[0]
        ),
        x: axis("rate of playout", "kB/s"),
        y: axis("pre-buffering", "s"),
        series: found.schemes.iter().map(curve).collect(),
        stated: Vec::new(),
    }
}

fn sheet(id: &str, found: &Runs) -> Sheet {
    let line = |(scheme, runs): &(Scheme, Vec<Played>)| {
        let times = found.each(*scheme, |run| Some(mean(&run.carried.times)));
        let given_up: u32 = runs.iter().map(|run| run.carried.timed_out).sum();
        let transfers: usize = runs.iter().map(|run| run.carried.times.len()).sum();
        vec![
            title(*scheme).to_owned(),
            shown(estimate(&times), 1),
            shown(estimate(&found.prebuffers(*scheme)), 1),
            shown(estimate(&found.rates(*scheme)), 2),
            shown(estimate(&found.overheads(*scheme)), 3),
            share(runs, 0),
            share(runs, 1),
            transfers.to_string(),
            given_up.to_string(),
        ]
    };
    let columns = [
        "scheme",
        "transfer s",
        "pre-buffer s",
        "rate of playout kB/s",
        "overhead ratio",
        "of it pairs",
        "of it requests to switch",
        "transfers",
        "given up",
    ];
    Sheet {
        id: id.to_owned(),
        title: "1000 packets of 1000 B".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: found.schemes.iter().map(line).collect(),
    }
}

/// What packet pairs (0) or requests to switch (1) have of the bytes that applications handed over.
fn signals(runs: &[Played], which: usize) -> f64 {
    let sum = |of: &dyn Fn(&Played) -> u64| runs.iter().map(of).sum::<u64>() as f64;
    sum(&|run| run.signals[which]) / sum(&|run| run.carried.bytes[0]).max(1.0)
}

fn share(runs: &[Played], which: usize) -> String {
    format!("{:.3}", signals(runs, which))
}

/// Why claims of Fig. 5 differ, by these runs.
fn reasons(found: &Runs) -> Vec<Reason> {
    let probes = found.of(Scheme::PpdTcp3);
    let [pairs, requests] = [0, 1].map(|which| signals(probes, which));
    let all = estimate(&found.overheads(Scheme::PpdTcp3)).map_or(0.0, |all| all.mean);
    let near = format!(
        "The overhead of PPD-TCP3 is {all:.3} of what applications handed over, with packets of 1000 B at this load. {pairs:.3} \
         of it are packet pairs and {requests:.3} requests to switch, which are repeated until they are heard; 3.3 counts \
         neither, only ACKs and probes, which are {:.3}. Pre-buffers of single transfers scatter as widely as they last.",
        all - pairs - requests
    );
    let shown = |scheme| shown(estimate(&found.prebuffers(scheme)), 1);
    let prebuffer = format!(
        "The paper shows one transfer a scheme. Over all transfers the pre-buffer is {} s with TCP and {} s with PPD-TCP1, and \
         from one transfer to another it varies with the longest silence: after losses in a row the retransmission timer \
         backs off up to a minute.",
        shown(Scheme::Tcp),
        shown(Scheme::PpdTcp1)
    );
    [
        ("ppd.fig5.probes_near_bound", near),
        ("ppd.fig5.prebuffer", prebuffer),
    ]
    .map(|(claim, text)| Reason { claim, text })
    .to_vec()
}
