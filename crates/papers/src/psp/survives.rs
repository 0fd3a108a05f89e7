//! Whether spaced packets arrive spaced (3.2.4).

use std::sync::atomic::AtomicU64;

use polypath_batch::run_counted;
use polypath_core::time::Time;
use polypath_report::plot::{Plot, Point, Series};
use polypath_sim::{Detail, NetworkEvent, NetworkObserver};
use serde::{Deserialize, Serialize};

use super::merge::parameters::STARTS;
use super::merge::{Merge, PACKET, SHARED, Span, Starts};
use super::packets::window_rate;
use super::pictures::{axis, sheet, stated, thin};
use super::sweep::{TIME, seeds, span, text};
use crate::figure::{Figure, Findings, Reason, Sheet};
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
/// So many of them: to 4 ms.
const CLASSES: usize = 200;

/// A run that looks at what arrives at one receiver of spaced packets.
#[derive(Clone, Debug, Serialize)]
struct Arrivals(Merge);

/// The gaps between packets that arrive one after the other, in microseconds: from the end of one to the start of the
/// next, as Fig. 3 defines the spacing.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Gaps {
    /// Of all, and of those alone between which nothing was lost; nothing of fewer than two.
    all: Option<Moments>,
    unbroken: Option<Moments>,
    /// How many gaps fall into each class.
    classes: Vec<u64>,
    /// How many are beyond all classes.
    beyond: u64,
}

/// Mean and standard deviation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Moments {
    mean: f64,
    deviation: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self {
            mean,
            deviation: (squares / (count - 1.0)).sqrt(),
        })
    }
}

impl Job for Arrivals {
    type Output = Gaps;

    const KIND: &'static str = "psp.gaps";

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
        let mut classes = vec![0; CLASSES];
        let mut beyond = 0;
        for gap in &all {
            let class = (0..CLASSES).take_while(|&class| (class + 1) as f64 * CLASS <= *gap);
            *classes.get_mut(class.count()).unwrap_or(&mut beyond) += 1;
        }
        Gaps {
            all: Moments::of(&all),
            unbroken: Moments::of(&unbroken),
            classes,
            beyond,
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

/// The setting of the figure first, and right after it that without TCP and that of the packet of 507 B.
const SETTINGS: [Setting; 8] = [
    (
        "paper's set-up, 16 TCPs with window 20",
        Starts::Drift,
        PACKET,
        Some(20),
    ),
    ("no TCP", Starts::Drift, PACKET, None),
    ("packets of 507 B", Starts::Drift, 507, Some(20)),
    ("packets of 1000 B", Starts::Drift, 1000, Some(20)),
    ("packets of 1400 B", Starts::Drift, 1400, Some(20)),
    ("TCPs with window 800", Starts::Drift, PACKET, Some(800)),
    ("start phases `rand`", Starts::Rand, PACKET, Some(20)),
    ("start phases `jitter`", Starts::Jitter, PACKET, Some(20)),
];

/// The gaps of a setting, run by run.
struct Known {
    setting: Setting,
    seeds: Vec<u64>,
    gaps: Vec<Gaps>,
}

type Of = fn(&Gaps) -> Option<f64>;

fn mean(gaps: &Gaps) -> Option<f64> {
    Some(gaps.all?.mean)
}

fn deviation(gaps: &Gaps) -> Option<f64> {
    Some(gaps.all?.deviation)
}

fn unbroken_mean(gaps: &Gaps) -> Option<f64> {
    Some(gaps.unbroken?.mean)
}

fn unbroken_deviation(gaps: &Gaps) -> Option<f64> {
    Some(gaps.unbroken?.deviation)
}

impl Known {
    fn samples(&self, of: Of) -> Vec<Sample> {
        let runs = self.seeds.iter().zip(&self.gaps);
        let sample = |(&seed, gaps): (&u64, &Gaps)| {
            Some(Sample {
                seed,
                value: of(gaps)?,
            })
        };
        runs.filter_map(sample).collect()
    }

    fn text(&self, of: Of) -> String {
        text(&self.samples(of), 1)
    }

    /// What the senders offer, and the TCPs would with full windows and no queue, in Mb/s.
    fn offered(&self) -> f64 {
        let (_, _, packet, window) = self.setting;
        let still = Span {
            seconds: 0,
            warm_up: 0,
        };
        let merge = Merge {
            packet,
            ..Merge::fixed(EACH, SPACING, still, 0)
        };
        let tcp = window.map_or(0.0, |window| {
            window_rate(f64::from(window), f64::from(packet))
        });
        f64::from(EACH) * (merge.rate_at(f64::from(SPACING)) + tcp)
    }

    fn row(&self) -> Vec<String> {
        let cells = [mean, deviation, unbroken_mean, unbroken_deviation].map(|of| self.text(of));
        [self.setting.0.to_owned(), format!("{:.1}", self.offered())]
            .into_iter()
            .chain(cells)
            .collect()
    }
}

fn known(study: &mut Study<'_>) -> Result<Vec<Known>, Pending> {
    let (seeds, span) = (seeds(study), span(study));
    let asked = SETTINGS.map(|setting| {
        let (_, starts, packet, window) = setting;
        let job = |&seed: &u64| {
            let merge = Merge::fixed(EACH, SPACING, span, seed).starting(starts);
            let merge = Merge { packet, ..merge };
            Arrivals(window.map_or(merge.clone(), |window| merge.beside(EACH, window)))
        };
        (setting, study.ask_all(seeds.iter().map(job)))
    });
    let known = asked.into_iter().map(|(setting, gaps)| {
        Ok(Known {
            setting,
            seeds: seeds.clone(),
            gaps: gaps?,
        })
    });
    known.collect()
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let known = known(study)?;
    let own = &known[0];
    let of = |quantity: &str, of: Of| {
        Measurement::of(CLAIM, quantity, "us", "receiver", &own.samples(of))
    };
    Ok(Findings {
        plots: vec![histogram(&own.gaps, study.stated(CLAIM, 0))],
        sheets: vec![table(&known)],
        measurements: vec![of("mean", mean), of("deviation", deviation)],
        reasons: vec![scatter(&known)],
        caveats: vec![packet_or_loss(&known)],
        parameters: Merge::fixed(EACH, SPACING, span(study), 0)
            .beside(EACH, 20)
            .parameters(TIME),
        notes: vec![STARTS.to_owned()],
    })
}

fn table(known: &[Known]) -> Sheet {
    sheet(
        "gaps",
        "Gaps between the packets of one sender at its receiver, from end to start; sent 1500 us apart",
        &[
            "setting",
            "senders and full TCP windows Mb/s",
            "mean us",
            "standard deviation us",
            "mean us, nothing lost between",
            "standard deviation us, nothing lost between",
        ],
        known.iter().map(Known::row).collect(),
    )
}

/// Whether the mean comes from the size of the packet or from loss.
fn packet_or_loss(known: &[Known]) -> Reason {
    let (own, small) = (&known[0], &known[2]);
    Reason {
        claim: CLAIM,
        text: format!(
            "The mean exceeds {SPACING} us by the packet and not by loss: from the end of a packet to the start of the next \
             (Fig. 3) a gap grows by the time that a packet needs less on the shared link than on its own. It is {} us where \
             nothing was lost between, {} us over all gaps, and {} us without TCP. Packets of 507 B, which the paper's number \
             implies from start to start, have {} us. An interval holds the sender's own clock, which differs by up to 0.5 %.",
            own.text(unbroken_mean),
            own.text(mean),
            known[1].text(mean),
            small.text(mean),
        ),
    }
}

/// Why the deviation is not the paper's, with that in the other settings.
fn scatter(known: &[Known]) -> Reason {
    let others = known[1..].iter().map(|known| {
        format!(
            "{} ({:.1} Mb/s): {} us",
            known.setting.0,
            known.offered(),
            known.text(deviation)
        )
    });
    let own = &known[0];
    Reason {
        claim: CLAIM,
        text: format!(
            "The deviation is {} us, and {} us where nothing was lost between. It grows with what senders and full windows of the TCPs \
             come to, which is {:.1} Mb/s here on a link of {SHARED} Mb/s. In other settings: {}.",
            own.text(deviation),
            own.text(unbroken_deviation),
            own.offered(),
            others.collect::<Vec<_>>().join("; "),
        ),
    }
}

/// The gaps of all runs, from the least to the greatest, beside the mean that the paper states, in microseconds.
fn histogram(runs: &[Gaps], paper: Option<f64>) -> Plot {
    let in_class = |class: usize| runs.iter().map(|gaps| gaps.classes[class]).sum::<u64>();
    let counts: Vec<u64> = (0..CLASSES).map(in_class).collect();
    let beyond: u64 = runs.iter().map(|gaps| gaps.beyond).sum();
    let total = (counts.iter().sum::<u64>() + beyond).max(1) as f64;
    let filled = |count: &u64| *count > 0;
    let first = counts.iter().position(filled).unwrap_or(0);
    let last = counts.iter().rposition(filled).unwrap_or(0);
    let point = |class: usize| Point {
        x: (class as f64 + 0.5) * CLASS,
        y: counts[class] as f64 / total,
        ci95: None,
    };
    Plot {
        id: "histogram".to_owned(),
        title: format!(
            "Gaps between the packets of one sender at its receiver, {beyond} of {total} beyond 4 ms"
        ),
        x: axis("gap", "us"),
        y: axis("share of gaps in a class of 20 us", ""),
        series: vec![thin(Series {
            name: "16 senders of 1500 us and 16 TCPs".to_owned(),
            points: (first..=last).map(point).collect(),
            ..Series::default()
        })],
        stated: paper
            .map(|mean| stated("", mean, 0.0))
            .into_iter()
            .collect(),
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
        let all = gaps.all.unwrap();
        assert!((all.mean - expected).abs() < 0.01, "{gaps:?}");
        assert!(all.deviation < 0.01 && gaps.classes[77] > 500, "{gaps:?}");
    }

    #[test]
    fn every_gap_is_in_a_class_or_beyond_all() {
        let listen = Listen {
            from: Time::ZERO,
            last_bit: 0.0,
            last: None,
            gaps: [0.0, 19.9, 20.0, 3999.0, 4000.0, 9000.0]
                .map(|gap| (gap, gap < 100.0))
                .to_vec(),
        };
        let gaps = listen.gaps();
        assert_eq!((gaps.classes[0], gaps.classes[1]), (2, 1));
        assert_eq!((gaps.classes[CLASSES - 1], gaps.beyond), (1, 2));
        assert!((gaps.unbroken.unwrap().mean - 13.3).abs() < 1e-9);
        assert!(Moments::of(&[1500.0]).is_none(), "one gap has no deviation");
    }
}
