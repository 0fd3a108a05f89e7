//! Whether spaced packets arrive spaced (3.2.4).

use std::sync::atomic::AtomicU64;

use polypath_batch::run_counted;
use polypath_core::time::Time;
use polypath_report::plot::{Plot, Point, Series};
use polypath_sim::{Detail, NetworkEvent, NetworkObserver};
use serde::{Deserialize, Serialize};

use super::merge::{Merge, PACKET, SHARED, Span, Starts};
use super::pictures::{axis, sheet};
use super::sweep::{seeds, span, text};
use crate::figure::{Figure, Findings, Reason};
use crate::measurement::{Measurement, Sample};
use crate::study::{Job, JobError, Pending, Study};

pub(super) const FIGURE: Figure = Figure {
    id: "psp.survives",
    title: "The spacing of packets at the receiver",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "psp.spacing_survives";
/// The senders' spacing in microseconds (3.2.4).
const SPACING: u32 = 1500;
/// Senders, and as many TCPs.
const EACH: u32 = 16;
/// The histogram's classes are so wide, in microseconds, and begin at 0.
const CLASS: f64 = 20.0;

/// A run that looks at what arrives at one receiver of spaced packets.
#[derive(Clone, Debug, Serialize)]
struct Arrivals(Merge);

/// The gaps between packets that arrive one after the other, in microseconds: from the end of one to the start of the
/// next, as Fig. 3 defines the spacing.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Gaps {
    /// Of all, and of those alone between which nothing was lost.
    all: Moments,
    unbroken: Moments,
    /// How many gaps fall into each class.
    classes: Vec<u64>,
}

/// Mean and standard deviation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Moments {
    mean: f64,
    deviation: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Self {
        let count = values.len().max(2) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self {
            mean,
            deviation: (squares / (count - 1.0)).sqrt(),
        }
    }
}

impl Job for Arrivals {
    type Output = Gaps;

    const KIND: &'static str = "psp.arrivals";

    fn cost(&self) -> f64 {
        2.0 * self.0.cost()
    }

    fn run(&self, parts: &AtomicU64) -> Result<Gaps, JobError> {
        let network = self.0.network()?;
        let mut listen = Listen {
            from: Time::ZERO + network.run.warm_up,
            last_bit: f64::from(self.0.packet) * 8.0 / f64::from(self.0.shared),
            last: None,
            gaps: Vec::new(),
        };
        run_counted(&network, self.0.seed, parts, &mut listen)?;
        Ok(listen.gaps())
    }
}

/// Listens at the receiver of the first flow.
struct Listen {
    from: Time,
    /// How long a packet takes on the shared link, in microseconds.
    last_bit: f64,
    /// When the packet before came, and its number.
    last: Option<(Time, u32)>,
    /// Each gap, and whether nothing was lost in it.
    gaps: Vec<(f64, bool)>,
}

impl Listen {
    fn gaps(&self) -> Gaps {
        let all: Vec<f64> = self.gaps.iter().map(|(gap, _)| *gap).collect();
        let unbroken = self.gaps.iter().filter(|(_, unbroken)| *unbroken);
        let unbroken: Vec<f64> = unbroken.map(|(gap, _)| *gap).collect();
        let mut classes = vec![0; 200];
        for gap in &all {
            let class = (0..classes.len()).take_while(|&class| (class + 1) as f64 * CLASS <= *gap);
            if let Some(count) = classes.get_mut(class.count()) {
                *count += 1;
            }
        }
        Gaps {
            all: Moments::of(&all),
            unbroken: Moments::of(&unbroken),
            classes,
        }
    }
}

impl NetworkObserver for Listen {
    fn on_progress(&mut self, _: Time) {}

    fn detail(&self) -> Detail {
        Detail {
            tcp: false,
            packets: true,
        }
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        let NetworkEvent::Arrived { link, packet } = event else {
            return;
        };
        // The first link of the graph is the shared one, in the direction of the sink.
        if at < self.from || packet.flow != 0 || link.0 != 0 {
            return;
        }
        if let Some((before, number)) = self.last.replace((at, packet.number)) {
            let gap = at.since(before).as_secs_f64() * 1e6 - self.last_bit;
            self.gaps.push((gap, packet.number == number + 1));
        }
    }
}

/// A setting by its name: start phases, packet in bytes, and the window of the TCPs, if any.
type Setting = (&'static str, Starts, u32, Option<u32>);

const SETTINGS: [Setting; 8] = [
    (
        "paper's set-up, 16 TCPs with window 20",
        Starts::Drift,
        PACKET,
        Some(20),
    ),
    ("TCPs with window 800", Starts::Drift, PACKET, Some(800)),
    ("no TCP", Starts::Drift, PACKET, None),
    ("start phases `rand`", Starts::Rand, PACKET, Some(20)),
    ("start phases `jitter`", Starts::Jitter, PACKET, Some(20)),
    ("packets of 1400 B", Starts::Drift, 1400, Some(20)),
    ("packets of 1000 B", Starts::Drift, 1000, Some(20)),
    ("packets of 507 B", Starts::Drift, 507, Some(20)),
];

/// The gaps of a setting, run by run.
struct Known {
    name: &'static str,
    seeds: Vec<u64>,
    gaps: Vec<Gaps>,
}

impl Known {
    fn samples(&self, of: fn(&Gaps) -> f64) -> Vec<Sample> {
        let runs = self.seeds.iter().zip(&self.gaps);
        let sample = |(&seed, gaps): (&u64, &Gaps)| Sample {
            seed,
            value: of(gaps),
        };
        runs.map(sample).collect()
    }

    fn row(&self) -> Vec<String> {
        let cell = |of: fn(&Gaps) -> f64| text(&self.samples(of), 1);
        vec![
            self.name.to_owned(),
            cell(|gaps| gaps.all.mean),
            cell(|gaps| gaps.all.deviation),
            cell(|gaps| gaps.unbroken.mean),
            cell(|gaps| gaps.unbroken.deviation),
        ]
    }
}

fn known(study: &mut Study<'_>) -> Result<Vec<Known>, Pending> {
    let (seeds, span) = (seeds(study), span(study));
    let asked = SETTINGS.map(|(name, starts, packet, window)| {
        let job = |&seed: &u64| {
            let merge = Merge::fixed(EACH, SPACING, span, seed).starting(starts);
            let merge = Merge { packet, ..merge };
            Arrivals(window.map_or(merge.clone(), |window| merge.beside(EACH, window)))
        };
        (name, study.ask_all(seeds.iter().map(job)))
    });
    let known = asked.into_iter().map(|(name, gaps)| {
        Ok(Known {
            name,
            seeds: seeds.clone(),
            gaps: gaps?,
        })
    });
    known.collect()
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let known = known(study)?;
    let own = &known[0];
    let of = |quantity: &str, of: fn(&Gaps) -> f64| {
        Measurement::of(CLAIM, quantity, "us", "receiver", &own.samples(of))
    };
    Ok(Findings {
        plots: own.gaps.first().map(histogram).into_iter().collect(),
        sheets: vec![sheet(
            "gaps",
            "Gaps between the packets of one sender at its receiver, from end to start; sent 1500 us apart",
            &[
                "setting",
                "mean us",
                "standard deviation us",
                "mean us, nothing lost between",
                "standard deviation us, nothing lost between",
            ],
            known.iter().map(Known::row).collect(),
        )],
        measurements: vec![
            of("mean", |gaps| gaps.all.mean),
            of("deviation", |gaps| gaps.all.deviation),
        ],
        reasons: vec![reason(&known)],
        parameters: Merge::parameters(),
        ..Findings::default()
    })
}

/// Why the deviation is not the paper's, with that in the other settings.
fn reason(known: &[Known]) -> Reason {
    let deviation = |known: &Known| text(&known.samples(|gaps| gaps.all.deviation), 1);
    let others = known[1..]
        .iter()
        .map(|known| format!("{} ({} us)", known.name, deviation(known)));
    let merge = Merge::fixed(
        EACH,
        SPACING,
        Span {
            seconds: 0,
            warm_up: 0,
        },
        0,
    );
    let offered = f64::from(EACH) * merge.rate_at(f64::from(SPACING));
    Reason {
        claim: CLAIM,
        text: format!(
            "The mean is the paper's, read from the end of a packet to the start of the next (Fig. 3): a packet takes less \
             time on the shared link, and the gap grows by that. The deviation depends on how nearly full the link is: the \
             senders offer {offered:.1} Mb/s, and 16 TCPs with a window of 20 would fill the rest of {SHARED} Mb/s. It is {} us; \
             in other settings: {}.",
            deviation(&known[0]),
            others.collect::<Vec<_>>().join("; "),
        ),
    }
}

fn histogram(gaps: &Gaps) -> Plot {
    let total = gaps.classes.iter().sum::<u64>().max(1) as f64;
    let point = |(class, &count): (usize, &u64)| Point {
        x: (class as f64 + 0.5) * CLASS,
        y: count as f64 / total,
        ci95: None,
    };
    Plot {
        id: "gaps".to_owned(),
        title: "Gaps between the packets of one sender at its receiver".to_owned(),
        x: axis("gap", "us"),
        y: axis("share of gaps in a class of 20 us", ""),
        series: vec![Series {
            name: "16 senders of 1500 us and 16 TCPs".to_owned(),
            points: gaps.classes.iter().enumerate().map(point).collect(),
            ..Series::default()
        }],
        ..Plot::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_senders_packets_keep_their_spacing_but_for_the_faster_link() {
        let span = Span {
            seconds: 2,
            warm_up: 1,
        };
        let merge = Merge::fixed(1, SPACING, span, 1).starting(Starts::Simul);
        let gaps = Arrivals(merge).run(&AtomicU64::new(0)).unwrap();
        let bits = f64::from(PACKET) * 8.0;
        let expected = f64::from(SPACING) + bits / 100.0 - bits / 155.0;
        assert!((gaps.all.mean - expected).abs() < 0.01, "{gaps:?}");
        assert!(
            gaps.all.deviation < 0.01 && gaps.classes[77] > 500,
            "{gaps:?}"
        );
    }
}
