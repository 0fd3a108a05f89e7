use super::*;
use polypath_core::cbr::{Cbr, CbrConfig};
use polypath_core::machine::Machine;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

const SECOND: Duration = Duration::from_secs(1);

/// The times at which a source sends until `end`.
fn times(mut source: DatagramSource, end: Time) -> Vec<Time> {
    let mut times = Vec::new();
    while let Some(deadline) = source.deadline()
        && deadline.at < end
    {
        source.handle_timeout(deadline.at, &mut |_| times.push(deadline.at));
    }
    times
}

fn endless(pattern: Pattern) -> DatagramSource {
    DatagramSource::new(pattern, 1000, Time::ZERO, Time::MAX)
}

fn on_off(sojourn: Sojourn) -> Pattern {
    let config = OnOffConfig {
        peak: Rate(800_000),
        on: SECOND,
        off: SECOND * 2,
        packet: Bytes(1000),
        sojourn,
    };
    Pattern::OnOff(OnOff::new(config, Seed(1).stream("udp")))
}

#[test]
fn the_mean_rate_of_bursts_is_the_peak_rate_times_the_share_of_on_times() {
    // 20 000 cycles: four standard errors are about 3 %; Pareto's tail with shape 3 costs twice
    // that.
    for (sojourn, bound) in [(Sojourn::Exponential, 0.03), (Sojourn::Pareto(3.0), 0.06)] {
        let end = Time::ZERO + SECOND * 60_000;
        let sent = times(endless(on_off(sojourn)), end).len() as f64;
        let rate = sent * 8000.0 / end.as_secs_f64();
        assert!(
            (rate / 266_667.0 - 1.0).abs() < bound,
            "{sojourn:?}: {rate}"
        );
    }
}

#[test]
fn poisson_intervals_have_their_mean_and_variance() {
    let mean = Duration::from_millis(10);
    let pattern = Pattern::Poisson(Poisson::new(mean, Seed(2).stream("poisson")));
    let times = times(endless(pattern), Time::ZERO + SECOND * 1000);
    let gaps: Vec<f64> = times
        .windows(2)
        .map(|t| t[1].since(t[0]).as_secs_f64())
        .collect();
    let average = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - average).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((average / 0.01 - 1.0).abs() < 0.015, "{average}");
    assert!((variance.sqrt() / 0.01 - 1.0).abs() < 0.02, "{variance}");
}

#[test]
fn a_constant_rate_is_exact_and_its_jitter_and_drift_stay_within_their_share() {
    let config = |jitter, drift| CbrConfig {
        interval: Duration::from_millis(10),
        jitter,
        drift,
    };
    let gaps = |config: CbrConfig, seed: u64| -> Vec<u64> {
        let pattern = Pattern::Cbr(Cbr::new(config, Seed(seed).stream("cbr")));
        let times = times(endless(pattern), Time::ZERO + SECOND * 100);
        assert_eq!(times[0], Time::ZERO);
        times
            .windows(2)
            .map(|t| t[1].since(t[0]).as_nanos())
            .collect()
    };
    assert!(gaps(config(0.0, 0.0), 1).iter().all(|g| *g == 10_000_000));
    let jittered = gaps(config(0.5, 0.0), 1);
    let (least, most) = (
        jittered.iter().min().unwrap(),
        jittered.iter().max().unwrap(),
    );
    assert!((5_000_000..5_010_000).contains(least) && (14_990_000..=15_000_000).contains(most));
    let drifted: Vec<u64> = (1..20)
        .map(|seed| gaps(config(0.0, 0.005), seed)[0])
        .collect();
    assert!(drifted.iter().all(|g| (9_950_000..=10_050_000).contains(g)));
    assert!(drifted.iter().any(|g| *g < 9_980_000) && drifted.iter().any(|g| *g > 10_020_000));
}

#[test]
fn nothing_is_sent_before_the_start_or_after_the_stop() {
    let config = CbrConfig {
        interval: Duration::from_millis(300),
        jitter: 0.0,
        drift: 0.0,
    };
    let pattern = Pattern::Cbr(Cbr::new(config, Seed(1).stream("cbr")));
    let source = DatagramSource::new(pattern, 1000, Time::ZERO + SECOND, Time::ZERO + SECOND * 2);
    let times = times(source, Time::ZERO + SECOND * 10);
    let sent: Vec<u64> = times.iter().map(|t| t.0 / 1_000_000).collect();
    assert_eq!(sent, [1000, 1300, 1600, 1900]);
}

/// Plays three datagrams, two of them at once, for ten seconds.
fn played(repeat: Option<Duration>) -> Vec<(u64, u32)> {
    let packets = [(500, 100), (500, 200), (1500, 300)];
    let packets = packets.map(|(ms, bytes)| polypath_scenario::TracePacket {
        at: Duration::from_millis(ms),
        bytes,
    });
    let playback = Playback::new(packets.into(), repeat);
    let start = Time::ZERO + SECOND;
    let stop = Time::ZERO + SECOND * 10;
    let mut source = DatagramSource::new(Pattern::Playback(playback), 0, start, stop);
    let mut sent = Vec::new();
    while let Some(deadline) = source.deadline() {
        let ms = deadline.at.0 / 1_000_000;
        source.handle_timeout(deadline.at, &mut |datagram| sent.push((ms, datagram.size)));
    }
    sent
}

#[test]
fn a_recording_is_played_once_or_again_without_drift() {
    assert_eq!(played(None), [(1500, 100), (1500, 200), (2500, 300)]);
    let again = played(Some(Duration::from_millis(1600)));
    let laps = (0..6).flat_map(|lap| {
        let lap = 1600 * lap;
        [(1500 + lap, 100), (1500 + lap, 200), (2500 + lap, 300)]
    });
    let wanted: Vec<(u64, u32)> = laps.filter(|(ms, _)| *ms < 10_000).collect();
    assert_eq!(again, wanted);
}
