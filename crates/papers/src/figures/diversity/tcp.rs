//! The remedy packet by packet: TCP in the simulator and, in a lab, that of the kernel (VI).

use polypath_batch::replica_seeds;
use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, SEED, Sample, Study,
};
use polypath_report::plot::{Axis, Plot, Point, Series};

use crate::figures::estimates::{estimate, text};
use crate::figures::pictures::{axis, figure_table};
use crate::jobs::diversity::fading_links::{
    Carried, Carrier, Control, FadingDownloads, FadingDownloadsInLab,
};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.tcp",
    title: "TCP downloads over links that fade: one link, copies, and copies with ECN",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.ecn_fix_tcp";

/// With marks, one download has at least this many times the goodput of one link.
const LEAST_GAIN: f64 = 1.6;
/// With marks, Jain's index is at least this part of that over one link without fades.
const LEAST_FAIRNESS: f64 = 0.95;
/// The number of simulated runs.
const RUNS: u32 = 4;
/// The numbers of downloads that begin together.
const FLOWS: &[u32] = &[1, 5, 20, 50];
/// Those of the reduced form.
const FEW_FLOWS: &[u32] = &[1, 5];

/// The runs of a number of downloads with a congestion control.
struct Cell {
    flows: u32,
    control: Control,
    /// The results by run, each by carrier; none without a simulation.
    simulated: Vec<Vec<Carried>>,
    /// The same in the lab; `None` without one.
    in_lab: Option<Vec<Vec<Carried>>>,
    seeds: Vec<u64>,
}

/// The site of runs.
#[derive(Clone, Copy)]
enum Site {
    Simulator,
    Lab,
}

impl Site {
    /// The carriers of a run, in the order of its results.
    const fn carriers(self) -> &'static [Carrier] {
        match self {
            Self::Simulator => &Carrier::SIMULATED,
            Self::Lab => &Carrier::IN_LAB,
        }
    }
}

impl Cell {
    fn request(study: &mut Study<'_>, flows: u32, control: Control) -> Result<Self, Pending> {
        let seeds = replica_seeds(SEED, RUNS);
        let in_lab = study.pick(2, 3);
        let job = |seed: &u64| FadingDownloads {
            flows,
            control,
            seed: *seed,
        };
        let simulated = match control.simulated() {
            Some(_) => study.request_all(seeds.iter().map(job)),
            None => Ok(Vec::new()),
        };
        // With the seeds of the first simulated runs.
        let jobs = seeds.iter().take(in_lab);
        let jobs = jobs.map(|seed| FadingDownloadsInLab(job(seed)));
        // Each is requested before the first that is missing ends this.
        let in_lab: Vec<_> = jobs.map(|job| study.request_in_lab(&job)).collect();
        Ok(Self {
            flows,
            control,
            simulated: simulated?,
            in_lab: in_lab.into_iter().collect::<Result<_, _>>()?,
            seeds,
        })
    }

    fn runs(&self, site: Site) -> &[Vec<Carried>] {
        match site {
            Site::Simulator => &self.simulated,
            Site::Lab => self.in_lab.as_deref().unwrap_or_default(),
        }
    }

    fn samples(&self, site: Site, carrier: Carrier, of: fn(&Carried) -> f64) -> Vec<Sample> {
        let mut carriers = site.carriers().iter();
        let position = carriers.position(|other| *other == carrier);
        let runs = self.runs(site).iter().zip(&self.seeds);
        let sample = |(run, seed): (&Vec<Carried>, &u64)| {
            Some(Sample {
                seed: *seed,
                value: of(run.get(position?)?),
            })
        };
        runs.filter_map(sample).collect()
    }

    /// The quantities of the claim, if there are runs. BBR ignores marks, and is no part of it.
    fn measurements(&self, site: Site) -> Vec<Measurement> {
        if self.control == Control::Bbr || self.runs(site).is_empty() {
            return Vec::new();
        }
        let links = [2, 4].into_iter();
        links.flat_map(|links| self.compared(site, links)).collect()
    }

    /// The quantities of the copies with marks on `links` links, and of one link.
    fn compared(&self, site: Site, links: u8) -> [Measurement; 6] {
        let (flows, control) = (self.flows, self.control.name());
        let group = format!("{flows} downloads, {control}");
        let of = |quantity: &str, unit: &str, carrier, value| {
            let name = format!("{quantity}.{control}_{links}");
            let samples = self.samples(site, carrier, value);
            let measured = Measurement::of(CLAIM, &name, unit, &group, &samples);
            measured.over("downloads", "", flows.into())
        };
        let marks = Carrier::Marks(links);
        [
            of("goodput.cured", "Mb/s", marks, megabits),
            of("goodput.single_link", "Mb/s", Carrier::Single, megabits),
            of("queue.cured", "ms", marks, milliseconds),
            of("queue.unfaded", "ms", Carrier::Unfaded, milliseconds),
            of("jain.cured", "ratio", marks, |of| of.jain),
            of("jain.unfaded", "ratio", Carrier::Unfaded, |of| of.jain),
        ]
    }

    fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        Carrier::IN_LAB.into_iter().map(|carrier| {
            let of = |site, of, digits| {
                let samples = self.samples(site, carrier, of);
                if samples.is_empty() {
                    return "-".to_owned();
                }
                text(&samples, digits)
            };
            let both =
                |value, digits| [Site::Simulator, Site::Lab].map(|site| of(site, value, digits));
            let head = [
                self.flows.to_string(),
                self.control.name().to_owned(),
                carrier.title(),
            ];
            let figures = [
                both(megabits, 2),
                both(milliseconds, 1),
                both(|of| of.jain, 3),
                both(|of| of.late, 2),
                both(|of| of.dropped * 100.0, 2),
                both(|of| of.lost * 100.0, 2),
                both(|of| of.marked as f64, 0),
            ];
            head.into_iter()
                .chain(figures.into_iter().flatten())
                .collect()
        })
    }
}

fn megabits(of: &Carried) -> f64 {
    of.goodput / 1e6
}

fn milliseconds(of: &Carried) -> f64 {
    of.queue_delay * 1e3
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let controls = study.pick(
        &[Control::Reno][..],
        &[Control::Reno, Control::Cubic, Control::Bbr][..],
    );
    let mut asked = Vec::new();
    for &flows in study.pick(FEW_FLOWS, FLOWS) {
        for &control in controls {
            asked.push(Cell::request(study, flows, control));
        }
    }
    let cells = asked.into_iter().collect::<Result<Vec<Cell>, _>>()?;
    let of = |site| cells.iter().flat_map(move |cell| cell.measurements(site));
    Ok(Findings {
        plots: vec![goodput(&cells)],
        tables: vec![table(&cells)],
        measurements: of(Site::Simulator).collect(),
        in_lab: of(Site::Lab).collect(),
        caveats: vec![caveat()],
        reasons: reason(&cells).into_iter().collect(),
        parameters: parameters(),
        ..Findings::default()
    })
}

fn parameters() -> Vec<[String; 2]> {
    [
        [
            "links",
            "20 Mbit/s, 50 ms each way, queues of 167 packets: what a link carries in a round trip",
        ],
        [
            "fades",
            "50 ms at a time, 3 % of the time, each link by itself",
        ],
        [
            "times",
            "10 s until the windows have settled, 30 s measured, then one more download for 15 s",
        ],
        [
            "simulated TCP",
            "SACK for reno, and cubic; ECN; initial window of 10",
        ],
        [
            "kernel's TCP",
            "reno, cubic and bbr with ECN, through nodes on emulated links",
        ],
        [
            "1 link, no probes",
            "the kernel's TCP without loss probes (RFC 8985) and F-RTO (RFC 5682), as in the simulator",
        ],
    ]
    .map(|both| both.map(ToOwned::to_owned))
    .to_vec()
}

fn caveat() -> ClaimRemark {
    ClaimRemark {
        claim: CLAIM,
        text: "The bounds were set for the kernel's TCP before its first run there. A packet waits at \
               each of its links, and the wait is the mean of all; the fastest copy counts for TCP. \
               BBR ignores marks and is in the table only."
            .to_owned(),
    }
}

/// The means of the cells beyond a bound of the claim, simulated and in the lab, if there are any.
fn reason(cells: &[Cell]) -> Option<ClaimRemark> {
    let compared = || cells.iter().filter(|cell| cell.control != Control::Bbr);
    let at = |site| {
        let all = compared().flat_map(|cell| [2, 4].map(|links| (cell, links)));
        all.filter_map(move |(cell, links)| missed(cell, links, site))
    };
    let texts: Vec<String> = at(Site::Simulator).chain(at(Site::Lab)).collect();
    (!texts.is_empty()).then(|| ClaimRemark {
        claim: CLAIM,
        text: format!("Means beyond a bound: {}.", texts.join("; ")),
    })
}

/// The means of copies with marks on `links` links, if one is beyond its bound.
fn missed(cell: &Cell, links: u8, site: Site) -> Option<String> {
    let mean = |carrier, of| Some(estimate(&cell.samples(site, carrier, of))?.mean);
    let beside = |carrier, of| Some([mean(Carrier::Marks(links), of)?, mean(carrier, of)?]);
    let [goodput, single] = beside(Carrier::Single, megabits)?;
    let [wait, most] = beside(Carrier::Unfaded, milliseconds)?;
    let [jain, least] = beside(Carrier::Unfaded, |of| of.jain)?;
    let gain = if cell.flows == 1 { LEAST_GAIN } else { 1.0 };
    let (flows, control) = (cell.flows, cell.control.name());
    let place = match site {
        Site::Simulator => "simulated",
        Site::Lab => "in the lab",
    };
    (goodput < gain * single || wait > most || jain < LEAST_FAIRNESS * least).then(|| {
        format!(
            "{place}, {flows} downloads by {control} over {links} links have {goodput:.2} Mb/s (one link {single:.2}), \
             wait {wait:.1} ms (one link without fades {most:.1}), with Jain's index {jain:.3} ({least:.3})"
        )
    })
}

/// The goodput over the number of downloads, by carrier, in the simulator and in the lab.
fn goodput(cells: &[Cell]) -> Plot {
    let panel = |control: Control, site: Site| {
        let title = match site {
            Site::Simulator => "simulated",
            Site::Lab => "in the lab",
        };
        let curve = |carrier: Carrier| Series {
            name: carrier.title(),
            points: cells
                .iter()
                .filter(|cell| cell.control == control)
                .filter_map(|cell| {
                    let found = estimate(&cell.samples(site, carrier, megabits))?;
                    Some(Point {
                        x: cell.flows.into(),
                        y: found.mean,
                        ci95: found.ci95,
                    })
                })
                .collect(),
            ..Series::default()
        };
        Plot {
            title: format!("{}, {title}", control.name()),
            x: Axis {
                is_log: true,
                ..axis("downloads", "")
            },
            y: axis("goodput", "Mb/s"),
            series: site.carriers().iter().copied().map(curve).collect(),
            ..Plot::default()
        }
    };
    let places = [Site::Simulator, Site::Lab];
    let has_runs = |control: Control, site: Site| {
        let mut of_control = cells.iter().filter(|cell| cell.control == control);
        of_control.any(|cell| !cell.runs(site).is_empty())
    };
    let controls = [Control::Reno, Control::Cubic, Control::Bbr].into_iter();
    let all = controls.flat_map(|control| places.map(|site| (control, site)));
    Plot {
        id: "goodput".to_owned(),
        title: "Goodput of downloads over links that fade".to_owned(),
        panels: all
            .filter(|(control, site)| has_runs(*control, *site))
            .map(|(control, site)| panel(control, site))
            .collect(),
        ..Plot::default()
    }
}

fn table(cells: &[Cell]) -> FigureTable {
    figure_table(
        "tcp",
        "Downloads over links that fade, simulated and by the kernel's TCP in the lab",
        &[
            "downloads",
            "TCP",
            "carrier",
            "goodput Mb/s, simulated",
            "in the lab",
            "wait at a link ms, simulated",
            "in the lab",
            "Jain's index, simulated",
            "in the lab",
            "late download's share, simulated",
            "in the lab",
            "dropped at queues %, simulated",
            "in the lab",
            "lost on all links %, simulated",
            "in the lab",
            "marks, simulated",
            "in the lab",
        ],
        cells.iter().flat_map(Cell::rows).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(control: Control) -> Cell {
        let carried = |goodput| Carried {
            goodput,
            jain: 1.0,
            late: 1.0,
            queue_delay: 0.05,
            dropped: 0.0,
            marked: 0,
            lost: 0.0,
        };
        let run = [20e6, 2e6, 16e6, 16e6, 18e6, 18e6].map(carried);
        Cell {
            flows: 1,
            control,
            simulated: vec![run.into(), run.into()],
            in_lab: None,
            seeds: vec![7, 8],
        }
    }

    #[test]
    fn the_claim_compares_carriers_with_marks_where_they_ran() {
        let found = cell(Control::Reno).measurements(Site::Simulator);
        let is = |name: &str, expected: f64| {
            let mut all = found.iter().filter(|measured| measured.quantity == name);
            let samples = &all.next().unwrap().samples;
            assert_eq!((samples[0].seed, samples.len()), (7, 2));
            let value = samples[0].value;
            assert!((value - expected).abs() < 1e-9, "{name}: {value}");
        };
        is("goodput.single_link.reno_4", 2.0);
        is("goodput.cured.reno_2", 16.0);
        is("goodput.cured.reno_4", 18.0);
        is("queue.unfaded.reno_2", 50.0);
        assert_eq!(found.len(), 12);
        assert!(cell(Control::Reno).measurements(Site::Lab).is_empty());
        assert!(cell(Control::Bbr).measurements(Site::Simulator).is_empty());
    }
}
